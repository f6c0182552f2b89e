import HeadgateData
import HeadgateWire

/// What can be watched (Protocol, `watch`).
public enum WatchTopic: String, CaseIterable, Sendable {
    /// The dispatchers, as `dispatcher.list` has them.
    case dispatchers
    /// The barriers, as `barrier.list` has them.
    case barriers
    /// What becomes of events, counted by dispatcher.
    case outcomes
    /// Who is connected.
    case clients
}

/// What a ``Watch`` tells (Protocol, `watch`; Behaviour B10).
public enum WatchUpdate: Sendable, Equatable {
    /// The daemon watches, for the first time or again. How things stand follows, topic by topic: what was known before
    /// counts no more.
    case began
    /// The connection is gone, for this reason. The next one is looked for, on which the watch begins again.
    case interrupted(ClientError)
    /// Dispatchers as they are now; others are as they were. Those of these ids are gone.
    case dispatchers([ListedDispatcher], removed: [String])
    /// Barriers as they are now; others are as they were. Those of these ids are gone.
    case barriers([ListedBarrier], removed: [String])
    /// What became of events since it was told last, by dispatcher. What comes first after ``began`` counts from the
    /// daemon's start.
    case outcomes([OutcomeCounts])
    /// All who are connected.
    case clients([ListedClient])

    /// Reads the params of `changed`; nil when they are of a topic that this version does not know.
    public init?(_ params: JSONView) {
        let params = DataObject(params)
        let removed: [String] = params.get(key: "removed") ?? []
        switch params.get(key: "topic", as: String.self).flatMap(WatchTopic.init(rawValue:)) {
        case .dispatchers: self = .dispatchers(ListedDispatcher.list(in: params) ?? [], removed: removed)
        case .barriers: self = .barriers(ListedBarrier.list(in: params) ?? [], removed: removed)
        case .outcomes: self = .outcomes(OutcomeCounts.list(in: params) ?? [])
        case .clients: self = .clients(ListedClient.list(in: params) ?? [])
        case nil: return nil
        }
    }
}

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
