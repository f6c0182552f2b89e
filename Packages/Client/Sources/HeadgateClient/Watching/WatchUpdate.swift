import HeadgateData
import HeadgateWire

/// A topic of a watch (Protocol, `watch`).
public enum WatchTopic: String, CaseIterable, Sendable {
    /// The dispatchers, as `dispatcher.list` has them.
    case dispatchers
    /// The barriers, as `barrier.list` has them.
    case barriers
    /// The outcomes of events, counted by dispatcher.
    case outcomes
    /// The connected clients.
    case clients
}

/// An update of a ``Watch`` (Protocol, `watch`; Behaviour B10).
public enum WatchUpdate: Sendable, Equatable {
    /// The daemon watches, for the first time or again. The complete state follows, topic by topic, and replaces the
    /// earlier state.
    case began
    /// The connection is lost for this reason. The watch begins again on the next connection.
    case interrupted(ClientError)
    /// The changed dispatchers, and the ids of removed ones.
    case dispatchers([ListedDispatcher], removed: [String])
    /// The changed barriers, and the ids of removed ones.
    case barriers([ListedBarrier], removed: [String])
    /// The outcomes since the last update, by dispatcher. The first update after ``began`` counts from the daemon's
    /// start.
    case outcomes([OutcomeCounts])
    /// All connected clients.
    case clients([ListedClient])

    /// Reads the params of `changed`. Returns nil if this version does not know their topic.
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

/// The outcomes of a dispatcher's events (Protocol, `watch`, topic `outcomes`).
public struct OutcomeCounts: Sendable, Equatable {
    /// The dispatcher's id.
    public let dispatcher: String
    /// The number of delivered events.
    public private(set) var delivered: Int
    /// The number of failed attempts that are repeated.
    public private(set) var retried: Int
    /// The number of dead-lettered events.
    public private(set) var dead: Int
    /// The number of events that were kept too long.
    public private(set) var expired: Int
    /// The number of events that were removed to make room for newer ones.
    public private(set) var evicted: Int
    /// The last error; nil after a success.
    public private(set) var lastError: String?

    /// Reads an entry of the notification. Missing members are empty.
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

    /// Adds the counts of a later notification.
    public mutating func add(_ news: OutcomeCounts) {
        // A sum that overflows is wrong, but no reason to stop the program.
        delivered &+= news.delivered
        retried &+= news.retried
        dead &+= news.dead
        expired &+= news.expired
        evicted &+= news.evicted
        lastError = news.lastError
    }

    /// Reads the member `outcomes`. Returns nil if it is absent.
    public static func list(in params: DataObject) -> [OutcomeCounts]? {
        params.get(key: "outcomes", as: [DataObject].self)?.map(OutcomeCounts.init)
    }
}
