/// The remembered ids of events, with the key by which they are hashed (Behaviour Q7).
struct Deduplication {
    /// The key for hashing ids.
    let key: DedupeKey
    private var window: DedupeWindow
    /// The value of ``DedupeWindow/forgotten`` when the store was last asked to forget ids.
    private var reportedForgotten = 0

    private static let mostForgotten = 65_536

    /// - Parameter kept: the key as the store has it; nil if it has none.
    init(_ limits: StoreLimits, kept: [UInt8]?) {
        key = kept.flatMap { DedupeKey(kept: $0) } ?? DedupeKey()
        window = DedupeWindow(capacity: limits.dedupeIDs, length: limits.dedupeWindow.wholeMilliseconds)
    }

    mutating func setLimits(_ limits: StoreLimits) {
        window.setCapacity(limits.dedupeIDs)
        window.length = limits.dedupeWindow.wholeMilliseconds
    }

    /// Fills the window from the store. The ids are released one by one, since both forms together would take twice the
    /// memory.
    mutating func restore(_ recent: consuming [RecentIDs]) {
        var rest = consume recent
        rest.reverse()
        while let ids = rest.popLast() {
            ids.visit(key) { window.insert($0, sequenceNumber: $1, stamp: $2) }
        }
    }

    // MARK: Remembering

    /// Returns the sequence number of the event with an id, or nil if the window does not contain the id.
    func find(_ fingerprint: DedupeWindow.Fingerprint, at stamp: Int64) -> SequenceNumber? {
        window.find(fingerprint, at: stamp)
    }

    mutating func insert(_ fingerprint: DedupeWindow.Fingerprint, sequenceNumber: SequenceNumber, stamp: Int64) {
        window.insert(fingerprint, sequenceNumber: sequenceNumber, stamp: stamp)
    }

    /// Returns the number of remembered ids, and the time of the oldest on the age scale.
    func remembered(at stamp: Int64) -> (ids: Int, since: Int64?) { window.remembered(at: stamp) }

    // MARK: Forgetting

    /// Forgets the ids of events that could not be stored.
    mutating func forget(from sequenceNumber: SequenceNumber) { window.forget(from: sequenceNumber) }

    /// Drops ids outside the window, a limited number per call.
    /// - Returns: the sequence number up to which the store may forget ids as well.
    mutating func forgetOld(at stamp: Int64) -> SequenceNumber {
        window.forget(at: stamp, most: Deduplication.mostForgotten)
        reportedForgotten = window.forgotten
        return window.forgottenThrough
    }

    /// Returns the sequence number up to which the store may forget ids with the next group; 0 for none. Ids are
    /// forgotten in blocks of a sixteenth of the window, because deleting many rows costs hardly more than deleting
    /// one.
    mutating func takeNewlyForgotten() -> SequenceNumber {
        guard window.forgotten - reportedForgotten >= max(1, window.capacity / 16) else { return 0 }
        reportedForgotten = window.forgotten
        return window.forgottenThrough
    }
}
