import HeadgateData

/// A scan for the stored events that an erasure's rule matches (Behaviour E1). It proceeds in steps, and a store may
/// run it on a thread of its own. It ends early if it has found a part that fills the memory meant for it. Pure.
public struct ErasureScan: StoreScan, Sendable {
    /// All events up to this one have been scanned.
    public private(set) var position: SequenceNumber
    /// The last event to scan.
    public let through: SequenceNumber
    /// The number of events that were found and are still needed, by a dispatcher or for retention.
    private(set) var count = 0
    /// The records of the events that were found, the oldest first; none if they are only counted. Events that are not
    /// needed are among them: until their bytes are gone, a rewind could make them pending again.
    private var records: [[UInt8]] = []
    private var bytes = 0
    private let rule: ErasureRule
    private let part: Part

    /// The size at which a part is full.
    struct Part: Sendable {
        var events = 50_000
        var bytes = 16 << 20
    }

    /// - Parameter part: nil only counts the events, whatever their number.
    init(_ rule: ErasureRule, after: SequenceNumber = 0, through: SequenceNumber, part: Part?) {
        (self.rule, position, self.through) = (rule, after, through)
        self.part = part ?? Part(events: 0, bytes: 0)
    }

    /// True if the scan is complete, or the part is full.
    public var isOver: Bool { isComplete || !keepsNothing && (records.count >= part.events || bytes >= part.bytes) }

    /// True if all events were scanned.
    var isComplete: Bool { position >= through }

    private var keepsNothing: Bool { part.events == 0 }

    /// The events that were found, the oldest first.
    var found: [StoredEvent] {
        records.compactMap { Chunk(bytes: $0, lastSequenceNumber: .max).event(at: 0) }
    }

    /// Processes the events that a store has after ``position``; nil if there are none.
    /// - Parameters:
    ///   - most: the bytes of events after which the others are left to the next step.
    ///   - isNeeded: returns true if some dispatcher has not settled an event, or the event is retained.
    public mutating func take(_ chunk: Chunk?, most: Int = .max, _ isNeeded: (StoredEvent) -> Bool) {
        guard let chunk, chunk.lastSequenceNumber > position else {
            position = max(position, through)
            return
        }
        let start = position
        var taken = 0
        for event in chunk where event.sequenceNumber > start && event.sequenceNumber <= through {
            guard taken < most else { return }
            taken += event.tally.bytes
            position = event.sequenceNumber
            guard rule.matches(event) else { continue }
            if isNeeded(event) { count += 1 }
            guard !keepsNothing else { continue }
            records.append(event.record)
            bytes += event.record.count
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
    func matches(_ event: StoredEvent) -> Bool {
        var stored = JSONWriter()
        event.write(into: &stored, attempt: 1, isReplayed: false, annotation: nil)
        return EventDocument(json: stored.bytes).map { rule.holds(for: $0) } ?? false
    }
}
