/// What became of an event that was offered to the queue.
public enum Admission: Equatable, Sendable {
    /// It has its place, and will be acknowledged once its group is committed.
    case stored(SequenceNumber)
    /// The same id came before (Behaviour Q7); acknowledged no earlier than the first one.
    case duplicate(SequenceNumber)
    /// No dispatcher wants it (Behaviour P3).
    case unrouted
    /// The store is full, and set to refuse (Behaviour Q4).
    case queueFull
    /// The event alone is larger than the store may be.
    case tooLarge
}

/// Why events that are accepted all or none are not accepted.
public enum AdmissionRefusal: Error, Equatable, Sendable {
    /// The store has no room for those of them that are new, and is set to refuse (Behaviour Q4).
    case queueFull
    /// Those that are new are larger together than the store may be.
    case tooLarge
}

/// What becomes of events that are accepted all or none, found out before any of them has its place: what is there
/// already needs no room, whether it came before or stands before in the same list (Behaviour Q7); the rest has to fit
/// together (Behaviour Q4). Pure.
///
/// A list is held against the ids that are remembered when it comes: those in it push none of them out before its end.
struct AdmissionPlan {
    /// What becomes of one event, in the order of the list.
    struct Entry {
        let admission: Admission
        let fingerprint: DedupeWindow.Fingerprint?
    }

    private(set) var entries: [Entry] = []
    /// What would be stored.
    private(set) var new = Tally.zero
    /// The place that was given last.
    private var last: SequenceNumber
    /// The places of the list's own ids.
    private var places: [DedupeWindow.Fingerprint: SequenceNumber] = [:]

    /// - Parameter last: the place before the first that is free.
    init(after last: SequenceNumber) {
        self.last = last
    }

    /// Takes the next event of the list up.
    /// - Parameters:
    ///   - fingerprint: that of the client's own id; nil when it has none.
    ///   - remembered: the place of an event with this id that came before the list; nil when there is none.
    mutating func add(
        _ event: TrackedEvent, _ fingerprint: DedupeWindow.Fingerprint?, remembered: SequenceNumber?
    ) {
        let first = remembered ?? fingerprint.flatMap { places[$0] }
        entries.append(Entry(admission: admission(of: event, first: first), fingerprint: fingerprint))
        guard case .stored(let number) = entries.last?.admission, let fingerprint else { return }
        places[fingerprint] = number
    }

    private mutating func admission(of event: TrackedEvent, first: SequenceNumber?) -> Admission {
        if let first { return .duplicate(first) }
        guard event.route != RouteTable.nobody else { return .unrouted }
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

/// How much a store may hold, and for how long (Behaviour Q3, Q4, Q7).
public struct StoreLimits: Sendable, Equatable {
    public var maxEvents = 1_000_000
    /// Bytes of stored JSON.
    public var maxBytes = 1 << 30
    public var maxAge = Duration.seconds(30 * 86_400)
    public var overflow = Overflow.reject
    /// How long an event's id is remembered.
    public var dedupeWindow = Duration.seconds(86_400)
    /// How many ids are remembered, the newest.
    public var dedupeIDs = 500_000
    /// How long the queue of a removed dispatcher is kept.
    public var orphanRetention = Duration.seconds(7 * 86_400)
    /// How many dead letters may be kept.
    public var deadLetters = LetterBounds()
    /// What happens to an event that dies when there are as many.
    public var deadLettersFull = DeadLettersFull.hold

    /// What happens to an event for which there is no room.
    public enum Overflow: String, Sendable, CaseIterable {
        /// It is refused with `queue_full`.
        case reject
        /// The oldest that are not in flight make room.
        case dropOldest = "drop_oldest"
    }

    public init() {}

    /// How far over the limits a store of this size is.
    func excess(of tally: Tally) -> Bool {
        tally.events > maxEvents || tally.bytes > maxBytes
    }
}
