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
    /// What the batches take that these are in, as they are sent.
    public var inFlightBytes: Int
    /// Counted since the start.
    public var counters: Counters<DispatcherCounter>
    /// The age of the oldest event that is not settled; nil when there is none.
    public var oldest: Duration?
    /// When it tries again; nil while it does not wait.
    public var retryAt: Timestamp?
    /// The cause of the last failed attempt; nil after a success.
    public var lastError: String?
    /// The time of that attempt; nil after a success.
    public var lastErrorAt: Timestamp?
    public var isFlushing: Bool
}

/// What became of a dispatcher's events.
public struct DispatcherOutcomes: Sendable, Equatable {
    /// The dispatcher's id.
    public var dispatcher: String
    /// Another one for a dispatcher that was removed and came back: that begins to count anew.
    public var incarnation: Int
    /// Counted since the start, or since an earlier look.
    public var counters: Counters<DispatcherCounter>
    /// What the last failed attempt failed of; nil after a success.
    public var lastError: String?

    /// What has come since an earlier look: all, if that was at another dispatcher of the same id.
    public func since(_ earlier: DispatcherOutcomes) -> DispatcherOutcomes {
        guard incarnation == earlier.incarnation else { return self }
        var news = self
        news.counters = counters.since(earlier.counters)
        return news
    }
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
