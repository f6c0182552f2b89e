import HeadgateCore

@testable import HeadgateServer

/// Numbers of refused events before the newest that is stored. Of a log in which that one rots the bytes do not tell its number, and
/// whoever has settled it may be the only one to know.
struct NumberGap {
    /// How many events were refused since some were stored.
    private var refused = 0
    /// The newest event, where there is such a gap before it.
    private var newest: SequenceNumber?
    /// Whether somebody has settled it, and nothing has come since.
    private(set) var isSettled = false

    mutating func asked() {
        (newest, isSettled) = (nil, false)
    }

    mutating func answered(_ group: AppendGroup, _ fault: StoreFault?) {
        guard fault == nil else {
            refused += group.chunk.count { _ in true }
            return
        }
        if refused > NumberGap.most(group) { newest = group.chunk.lastSequenceNumber }
        refused = 0
    }

    /// So many events a start takes the bytes of a group for at most.
    private static func most(_ group: AppendGroup) -> Int {
        (group.chunk.bytes.count + 512) / 48
    }

    /// So much is asked to be written down as settled.
    mutating func asked(_ settled: Settled) {
        if let newest, settled.contains(newest) { isSettled = true }
    }
}
