/// Events that a dispatcher will not deliver, or that its destination did not store, for the log (Behaviour O4). They
/// are also counted.
public struct EventLoss: Sendable, Equatable {
    /// The reason.
    public enum Kind: Sendable, Equatable {
        /// The events were dead-lettered.
        case dead(DeadLetter.Reason)
        /// The events were dropped because they were too old.
        case expired
        /// The events were evicted to make room for newer ones.
        case evicted
        /// An operator purged the events.
        case purged
        /// Dead letters were dropped to make room for newer ones.
        case deadLettersDropped
        /// There is no room for another dead letter: the event stays in the queue, and the dispatcher is held.
        case deadLettersFull
        /// The destination said that it had the events before they were sent for the first time (Behaviour K4).
        case duplicates
        /// The destination accepted a batch but for these events, and did not say which ones (Behaviour K7).
        case rejected
        /// A damaged store lost the events.
        case quarantined
        /// The queue of a removed dispatcher was dropped after its retention time.
        case queueExpired
        /// The queue of a removed dispatcher was dropped to make room.
        case queueEvicted
    }

    public var kind: Kind
    /// The dispatcher's id.
    public var dispatcher: String
    public var events: Int
    /// The cause of the last failed attempt, for dead letters, or the destination's reason, for rejected events.
    public var cause: String?
    /// The id of the first event, for dead letters.
    public var firstID: String?

    /// - Parameter dispatcher: the dispatcher's id.
    init(_ kind: Kind, of dispatcher: String, events: Int, cause: String? = nil, firstID: String? = nil) {
        self.kind = kind
        self.dispatcher = dispatcher
        self.events = events
        self.cause = cause
        self.firstID = firstID
    }
}

extension DeliveryOutcome {
    /// The loss to report for this outcome; nil for none. Dead letters are reported by themselves.
    var loss: EventLoss.Kind? {
        switch self {
        // An erasure is logged as a whole.
        case .delivered, .transformedAway, .dead, .erased: nil
        case .expired: .expired
        case .evicted: .evicted
        case .purged: .purged
        }
    }
}
