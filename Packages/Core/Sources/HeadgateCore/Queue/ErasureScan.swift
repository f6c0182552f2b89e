import HeadgateData

/// A scan for the stored events that an erasure means (Behaviour E1). It proceeds in parts, and a store may run it on a
/// thread of its own. Pure.
public struct ErasureScan: StoreScan, Sendable {
    /// All events up to this one have been scanned.
    public private(set) var position: SequenceNumber
    /// The last event to scan.
    public let through: SequenceNumber
    /// The records of the events that were found, the oldest first.
    private var records: [[UInt8]] = []
    private let rule: ErasureRule

    /// The most events that one scan finds, because they are kept in memory.
    public static let most = 100_000

    init(_ rule: ErasureRule, after: SequenceNumber = 0, through: SequenceNumber) {
        (self.rule, position, self.through) = (rule, after, through)
    }

    /// True if the scan is complete, or has found more than it may.
    public var isOver: Bool { position >= through || isTooMuch }

    /// True if more events are meant than one erasure may erase.
    var isTooMuch: Bool { records.count > ErasureScan.most }

    /// The events that were found, the oldest first.
    var found: [StoredEvent] {
        records.compactMap { Chunk(bytes: $0, lastSequenceNumber: .max).event(at: 0) }
    }

    /// Processes the events that a store has after ``position``; nil if there are none.
    /// - Parameter isNeeded: returns true if some dispatcher has not settled an event, or the event is retained.
    public mutating func take(_ chunk: Chunk?, _ isNeeded: (StoredEvent) -> Bool) {
        guard let chunk, chunk.lastSequenceNumber > position else {
            position = max(position, through)
            return
        }
        for event in chunk where event.sequenceNumber > position && event.sequenceNumber <= through {
            if isNeeded(event), rule.means(event) { records.append(event.record) }
        }
        position = chunk.lastSequenceNumber
    }
}

/// The condition for the events of an erasure.
///
/// `@unchecked`: a resolved rule does not change, and a compiled pattern may be used by several threads.
struct ErasureRule: @unchecked Sendable {
    private let rule: ResolvedRule

    init(_ rule: ResolvedRule) {
        self.rule = rule
    }

    /// Returns true if the rule is true for an event in its delivered form.
    func means(_ event: StoredEvent) -> Bool {
        var stored = JSONWriter()
        event.write(into: &stored, attempt: 1, isReplayed: false, annotation: nil)
        return EventDocument(json: stored.bytes).map { rule.holds(for: $0) } ?? false
    }
}
