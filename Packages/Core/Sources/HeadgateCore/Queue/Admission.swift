/// The result of offering an event to the queue.
public enum Admission: Equatable, Sendable {
    /// The event has this sequence number. It is acknowledged once its group is committed.
    case stored(SequenceNumber)
    /// An earlier event has the same id (Behaviour Q7). The value is that event's sequence number. The duplicate is
    /// acknowledged no earlier than that event.
    case duplicate(SequenceNumber)
    /// No dispatcher gets the event, so it is not stored (Behaviour P3).
    case unrouted
    /// The store is full, or the sender has used its share of the last tenth. The overflow setting is `reject` (Behaviour
    /// Q4).
    case queueFull
    /// The event alone is larger than `max_bytes` of the store.
    case tooLarge
}

/// The reason for refusing a list of events that is accepted as a whole or not at all.
public enum AdmissionRefusal: Error, Equatable, Sendable {
    /// The store has no room for the new events of the list, or the sender has used its share of the last tenth. The
    /// overflow setting is `reject` (Behaviour Q4).
    case queueFull
    /// The new events of the list together are larger than `max_bytes` of the store.
    case tooLarge
}

/// A plan of the admission of each event in a list that is accepted as a whole or not at all, before any event is
/// stored.
///
/// A duplicate needs no room, whether the first event came before the list or is in the list itself (Behaviour Q7). The
/// new events must fit together (Behaviour Q4). Ids of the list are compared with the ids that the dedupe window
/// remembers at its beginning: the list itself pushes no id out of the window. Pure.
struct AdmissionPlan {
    /// The admission of one event, in the order of the list.
    struct Entry {
        let admission: Admission
        let fingerprint: DedupeWindow.Fingerprint?
    }

    private(set) var entries: [Entry] = []
    /// The number and size of the events that would be stored.
    private(set) var new = Tally.zero
    /// The last sequence number assigned by the plan.
    private var last: SequenceNumber
    /// The sequence numbers of new ids in the list.
    private var pending: [DedupeWindow.Fingerprint: SequenceNumber] = [:]

    /// - Parameter last: the last sequence number in use.
    init(after last: SequenceNumber) {
        self.last = last
    }

    /// Adds the next event of the list.
    /// - Parameters:
    ///   - event: the event.
    ///   - fingerprint: the fingerprint of the client's own id; nil if the id was generated.
    ///   - remembered: the sequence number of an earlier event with this id; nil if there is none.
    mutating func add(
        _ event: TrackedEvent, _ fingerprint: DedupeWindow.Fingerprint?, remembered: SequenceNumber?
    ) {
        let first = remembered ?? fingerprint.flatMap { pending[$0] }
        entries.append(Entry(admission: admission(of: event, first: first), fingerprint: fingerprint))
        guard case .stored(let number) = entries.last?.admission, let fingerprint else { return }
        pending[fingerprint] = number
    }

    private mutating func admission(of event: TrackedEvent, first: SequenceNumber?) -> Admission {
        if let first { return .duplicate(first) }
        guard event.route != RouteTable.noDispatcher else { return .unrouted }
        last += 1
        new += Tally(events: 1, bytes: event.storedByteCount(last))
        return .stored(last)
    }
}

extension DedupeWindow.Fingerprint: Hashable {
    func hash(into hasher: inout Hasher) {
        hasher.combine(first)
    }
}

/// The limits of a store: size, age and remembered ids (Behaviour Q3, Q4, Q7).
public struct StoreLimits: Sendable, Equatable {
    public var maxEvents = 1_000_000
    /// The limit in bytes of stored JSON.
    public var maxBytes = 1 << 30
    public var maxAge = Duration.seconds(30 * 86_400)
    public var overflow = Overflow.reject
    /// The time for which an event's id is remembered.
    public var dedupeWindow = Duration.seconds(86_400)
    /// The number of ids that are remembered; the oldest are forgotten first.
    public var dedupeIDs = 500_000
    /// The time for which the queue of a removed dispatcher is kept.
    public var orphanRetention = Duration.seconds(7 * 86_400)
    /// The limits of dead letters.
    public var deadLetters = DeadLetterLimits()
    /// The action for an event that would become a dead letter when a dead-letter limit is reached.
    public var deadLettersFull = DeadLettersFull.hold
    /// The limits of settled events that are kept for rewinds; nil keeps none (Behaviour R1).
    public var retain: RetentionLimits?

    /// The action for a new event when the store is full.
    public enum Overflow: String, Sendable, CaseIterable {
        /// The event is refused with `queue_full`.
        case reject
        /// The oldest events that are not in flight are evicted.
        case dropOldest = "drop_oldest"
    }

    public init() {}

    /// The size up to which any sender may fill the store. What is left of the limits is shared fairly (Behaviour Q4).
    var unshared: Tally {
        Tally(events: FairRoom.unshared(maxEvents), bytes: FairRoom.unshared(maxBytes))
    }

    /// Returns true if a store of this size exceeds a limit.
    func excess(of tally: Tally) -> Bool {
        tally.events > maxEvents || tally.bytes > maxBytes
    }
}
