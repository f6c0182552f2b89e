import HeadgateData

/// What became of a dispatcher's events (Protocol, `watch`, topic `outcomes`).
public struct OutcomeCounts: Sendable, Equatable {
    /// The dispatcher's id.
    public let dispatcher: String
    /// Events delivered.
    public private(set) var delivered: Int
    /// Attempts that failed and are made again.
    public private(set) var retried: Int
    /// Events dead-lettered.
    public private(set) var dead: Int
    /// Events that were kept too long.
    public private(set) var expired: Int
    /// Events that had to make room for newer ones.
    public private(set) var evicted: Int
    /// What went wrong last; nil when the last attempt went well.
    public private(set) var lastError: String?

    /// Reads an entry of the notification. What is missing is taken for empty.
    public init(_ entry: DataObject) {
        func count(_ key: String) -> Int { entry.get(key: key) ?? 0 }
        dispatcher = entry.get(key: "dispatcher") ?? ""
        delivered = count("delivered")
        retried = count("retried")
        dead = count("dead")
        expired = count("expired")
        evicted = count("evicted")
        lastError = entry.get(key: "last_error")
    }

    /// Adds what has happened since; each notification tells only that.
    public mutating func add(_ news: OutcomeCounts) {
        // Whatever a peer counts, a sum that is too large is wrong and no more than that.
        delivered &+= news.delivered
        retried &+= news.retried
        dead &+= news.dead
        expired &+= news.expired
        evicted &+= news.evicted
        lastError = news.lastError
    }

    /// Reads the member `outcomes`; nil if there is none.
    public static func list(in params: DataObject) -> [OutcomeCounts]? {
        params.get(key: "outcomes", as: [DataObject].self)?.map(OutcomeCounts.init)
    }
}
