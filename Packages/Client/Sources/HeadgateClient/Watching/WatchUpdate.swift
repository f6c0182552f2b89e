import HeadgateData
import HeadgateWire

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
    init?(_ params: JSONView) {
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
