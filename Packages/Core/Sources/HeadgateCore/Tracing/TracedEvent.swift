import HeadgateData

/// One event, and what became of it for each dispatcher that it is for (Behaviour O2).
public struct TracedEvent: Sendable, Equatable {
    /// Nil where it is not known any more.
    public var namespace: String?
    public var sequenceNumber: SequenceNumber
    /// Its name; nil where it is not known any more.
    public var name: String?
    /// When it was received, by the wall clock of then.
    public var receivedAt: Timestamp?
    /// How it stands with each dispatcher, in alphabetical order. Those of which nothing is known any more are left out.
    public var dispatchers: [TracedWay] = []
}

/// How an event stands with one dispatcher.
public struct TracedWay: Sendable, Equatable {
    /// The dispatcher's id.
    public var dispatcher: String
    public var state: State
    /// When it ended, or was sent; nil while it waits, and where that is not known.
    public var at: Timestamp?
    /// How often it was sent, the last time included.
    public var attempts: Int?
    /// What its last attempt failed of; nil where none did.
    public var lastError: String?
    /// How many of the dispatcher's events have to end before it; nil when it does not wait.
    public var ahead: Int?
    /// The ids of the barriers that hold it.
    public var blockedBy: [String] = []
    /// Its dead letter; nil where there is none, or none any more.
    public var letter: LetterNumber?

    /// What has become of it.
    public enum State: String, Sendable, CaseIterable {
        /// It waits.
        case pending
        /// It is on its way to the destination.
        case inFlight = "in_flight"
        case delivered
        /// It was given up, and put aside as a dead letter.
        case dead
        /// It was kept too long (Behaviour Q4).
        case expired
        /// It had to make room for newer ones (Behaviour Q4).
        case evicted
        /// An operator purged it.
        case purged
        /// A transformation dropped it (Behaviour P4).
        case transformedAway = "transformed_away"
    }
}

extension TracedWay.State {
    init(_ end: DeliveryEnd) {
        switch end {
        case .delivered: self = .delivered
        case .dead: self = .dead
        case .expired: self = .expired
        case .evicted: self = .evicted
        case .purged: self = .purged
        case .transformedAway: self = .transformedAway
        }
    }
}
