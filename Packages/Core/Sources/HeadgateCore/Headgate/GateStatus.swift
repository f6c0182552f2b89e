import HeadgateData

/// A dispatcher as people see it.
public struct DispatcherSummary: Sendable, Equatable {
    public var id: String
    public var kind: String
    /// Whether dispatches may go on now, flushes taken into account.
    public var isOpen: Bool
    /// The barriers that hold it now.
    public var blockedBy: [String]
    public var pending: Int
    public var inFlight: Int
    public var sent: Int
    /// Attempts that failed.
    public var failed: Int
    public var dead: Int
    public var expired: Int
    public var evicted: Int
    /// The age of the oldest event that is not settled; nil when there is none.
    public var oldest: Duration?
    /// When it tries again; nil while it does not wait.
    public var retryAt: Timestamp?
    public var lastError: String?
    public var isFlushing: Bool
}

/// What became of a dispatcher's events, counted in events.
public struct DispatcherOutcomes: Sendable, Equatable {
    /// The dispatcher's id.
    public var dispatcher: String
    public var delivered: Int
    /// Events that go once more, each time that they do.
    public var retried: Int
    public var dead: Int
    public var expired: Int
    public var evicted: Int
    /// What the last failed attempt failed of; nil after a success.
    public var lastError: String?

    /// What has come since an earlier look.
    public func since(_ earlier: DispatcherOutcomes) -> DispatcherOutcomes {
        DispatcherOutcomes(
            dispatcher: dispatcher, delivered: delivered - earlier.delivered, retried: retried - earlier.retried,
            dead: dead - earlier.dead, expired: expired - earlier.expired, evicted: evicted - earlier.evicted,
            lastError: lastError)
    }
}

/// What happened since the start, counted in events where nothing else is said (Behaviour P1).
public struct Counters: Sendable, Equatable {
    /// Valid events that clients sent, whatever became of them.
    public var received = 0
    public var duplicates = 0
    public var unrouted = 0
    /// Of those received: refused because there was no room, or the store failed.
    public var rejected = 0
    public var delivered = 0
    public var retried = 0
    public var dead = 0
    /// Dead letters whose events went into the queue again; each will be delivered, dead and so on once more.
    public var requeued = 0
    public var expired = 0
    public var evicted = 0
    public var transformedAway = 0
    public var quarantined = 0
    public var collectorErrors = 0
    public var barrierErrors = 0
    public var transformationErrors = 0

    public init() {}

    /// Counts the ends of events.
    mutating func add(_ count: Int, _ end: DeliveryEnd) {
        switch end {
        case .delivered: delivered += count
        case .dead: dead += count
        case .expired: expired += count
        case .evicted: evicted += count
        case .transformedAway: transformedAway += count
        }
    }
}

/// The one place where things are counted.
public final class CounterBoard {
    public var counters = Counters()

    public init() {}
}

/// What may have changed at a gate, for those who then look (Behaviour B10).
public enum GateChange: Sendable {
    /// The way to a dispatcher: a barrier's state, or a flush.
    case way
    /// Which barriers there are, or what is told of them.
    case barriers
    /// A dispatcher's counters, at the end of a turn.
    case progress
}
