import HeadgateData

/// The state of a dispatcher, for people.
public struct DispatcherSummary: Sendable, Equatable {
    public var id: String
    public var kind: String
    /// True if dispatches may be sent now. Running flushes are considered.
    public var isOpen: Bool
    /// The barriers that block the dispatcher now.
    public var blockedBy: [String]
    public var pending: Int
    public var inFlight: Int
    /// The size of the batches in flight, as they are sent.
    public var inFlightBytes: Int
    /// The counters since the start.
    public var counters: Counters<DispatcherCounter>
    /// The age of the oldest unsettled event; nil if there is none.
    public var oldest: Duration?
    /// The time of the next attempt; nil while the dispatcher is not backing off.
    public var retryAt: Timestamp?
    /// The cause of the last failed attempt; nil after a success.
    public var lastError: String?
    /// The time of the last failed attempt; nil after a success.
    public var lastErrorAt: Timestamp?
    public var isFlushing: Bool
}

/// The outcomes of a dispatcher's events.
public struct DispatcherOutcomes: Sendable, Equatable {
    /// The dispatcher's id.
    public var dispatcher: String
    /// A number that changes when a dispatcher is removed and added again. Its counters then start at zero.
    public var incarnation: Int
    /// The counters since the start, or since an earlier value.
    public var counters: Counters<DispatcherCounter>
    /// The cause of the last failed attempt; nil after a success.
    public var lastError: String?

    /// Returns the outcomes since an earlier value, or all outcomes if the earlier value is of another dispatcher with
    /// the same id.
    public func since(_ earlier: DispatcherOutcomes) -> DispatcherOutcomes {
        guard incarnation == earlier.incarnation else { return self }
        var news = self
        news.counters = counters.since(earlier.counters)
        return news
    }
}
