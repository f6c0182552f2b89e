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
