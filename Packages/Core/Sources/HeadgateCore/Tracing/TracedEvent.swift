import HeadgateData

/// An event with its outcome for each dispatcher (Behaviour O2).
public struct TracedEvent: Sendable, Equatable {
    /// The namespace; nil if it is unknown.
    public var namespace: String?
    public var sequenceNumber: SequenceNumber
    /// The event's name; nil if it is unknown.
    public var name: String?
    /// The wall-clock time of receipt; nil if it is unknown.
    public var receivedAt: Timestamp?
    /// The state at each dispatcher, in alphabetical order. Dispatchers of which nothing is known are left out.
    public var dispatchers: [DispatcherTrace] = []
}

/// The state of an event at one dispatcher.
public struct DispatcherTrace: Sendable, Equatable {
    /// The dispatcher's id.
    public var dispatcher: String
    public var state: State
    /// The time at which the event was settled or sent; nil while it is pending, and if the time is unknown.
    public var at: Timestamp?
    /// The number of times that the event was sent, including the last.
    public var attempts: Int?
    /// The cause of the last failed attempt; nil if there was none.
    public var lastError: String?
    /// The number of the dispatcher's events that have to be settled before this one; nil if this one is not pending.
    public var ahead: Int?
    /// The ids of the barriers that hold the event.
    public var blockedBy: [String] = []
    /// The number of the event's dead letter; nil if there is none.
    public var deadLetter: DeadLetterNumber?
    /// True if the dispatcher's last rewind made the event pending again (Behaviour R2).
    public var isReplayed = false

    /// The state of an event.
    public enum State: String, Sendable, CaseIterable {
        /// The event is pending.
        case pending
        /// The event is in flight.
        case inFlight = "in_flight"
        case delivered
        /// The event was dead-lettered.
        case dead
        /// The event was dropped because it was too old (Behaviour Q4).
        case expired
        /// The event was evicted to make room for newer ones (Behaviour Q4).
        case evicted
        /// An operator purged the event.
        case purged
        /// A transformation dropped the event (Behaviour P4).
        case transformedAway = "transformed_away"
        /// An operator erased the event (Behaviour E1).
        case erased
    }
}

extension DispatcherTrace.State {
    init(_ end: DeliveryOutcome) {
        switch end {
        case .delivered: self = .delivered
        case .dead: self = .dead
        case .expired: self = .expired
        case .evicted: self = .evicted
        case .purged: self = .purged
        case .transformedAway: self = .transformedAway
        case .erased: self = .erased
        }
    }
}
