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
