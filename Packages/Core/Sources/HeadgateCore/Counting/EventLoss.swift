/// Events that a dispatcher does not deliver any more, or that its destination did not store, for those who keep a log
/// (Behaviour O4). Each is counted as well.
public struct EventLoss: Sendable, Equatable {
    /// What has become of them.
    public enum Kind: Sendable, Equatable {
        /// They were given up, and put aside as dead letters.
        case dead(DeadLetter.Reason)
        /// They were kept too long.
        case expired
        /// They had to make room for newer ones.
        case evicted
        /// An operator did not want them.
        case purged
        /// They were dead letters, which had to make room for newer ones.
        case lettersDropped
        /// There are so many dead letters that a further one has no room: its event stays in the queue, and the dispatcher is held.
        case lettersFull
        /// The destination said that it had them before they were sent for the first time (Behaviour K4).
        case duplicates
        /// A damaged store does not have them any more.
        case quarantined
        /// The queue of a dispatcher that is gone was kept too long.
        case queueExpired
        /// The queue of a dispatcher that is gone had to make room.
        case queueEvicted
    }

    public var kind: Kind
    /// The dispatcher's id.
    public var dispatcher: String
    public var events: Int
    /// What the last attempt failed of, of dead letters.
    public var cause: String?
    /// The first one's id, of dead letters.
    public var firstID: String?

    /// - Parameter dispatcher: its id.
    init(_ kind: Kind, of dispatcher: String, events: Int, cause: String? = nil, firstID: String? = nil) {
        self.kind = kind
        self.dispatcher = dispatcher
        self.events = events
        self.cause = cause
        self.firstID = firstID
    }
}

extension DeliveryEnd {
    /// What is told of it; nil where that is nothing, or is told of dead letters.
    var loss: EventLoss.Kind? {
        switch self {
        case .delivered, .transformedAway, .dead: nil
        case .expired: .expired
        case .evicted: .evicted
        case .purged: .purged
        }
    }
}
