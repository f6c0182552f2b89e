import HeadgateCore

@testable import HeadgateServer

/// The refused sequence numbers before the newest stored event. If that event is damaged in a log, its bytes do not
/// reveal its number, so that only a dispatcher that settled the event may know it.
struct NumberGap {
    /// The number of events refused since the last stored one.
    private var refused = 0
    /// The newest event, if there is such a gap before it.
    private var newest: SequenceNumber?
    /// True if a dispatcher settled that event and no event followed.
    private(set) var isSettled = false

    mutating func requested() {
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

    /// Returns the largest number of events that a start assumes for the bytes of a group.
    private static func most(_ group: AppendGroup) -> Int {
        (group.chunk.bytes.count + 512) / 48
    }

    /// Records a settlement that is to be written.
    mutating func requested(_ settled: Settled) {
        if let newest, settled.contains(newest) { isSettled = true }
    }
}
