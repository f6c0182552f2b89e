import HeadgateClient
import HeadgateData

/// What the console knows of the daemon: as it is now, or as it was when it was last seen.
struct DaemonState: Sendable {
    /// Whether there is a daemon.
    enum Presence: Equatable, Sendable {
        /// Nobody has asked yet.
        case unknown
        /// It answers.
        case serving
        /// It does not, since then, for this reason.
        case away(String, since: Timestamp)
        /// It does not let the console look, for this reason.
        case refusing(String)
    }

    private(set) var presence = Presence.unknown
    /// What `status` says besides the lists; nil before it was asked.
    private(set) var status: DataObject?
    private(set) var dispatchers: [ListedDispatcher] = []
    private(set) var barriers: [ListedBarrier] = []
    /// Who is connected; nil where that was not asked, or the daemon is too old to tell.
    private(set) var clients: [ListedClient]?
    /// What the daemon measures; nil where it has not told, or is too old to.
    private(set) var metrics: MetricTable?
    /// When something was learned last.
    private(set) var asOf: Timestamp?

    /// Whether the daemon answers and has all that it needs.
    var isReady: Bool {
        presence == .serving && status?.get(key: "ready") ?? false
    }

    /// The daemon has told how it is.
    mutating func take(status: DataObject, at now: Timestamp) {
        presence = .serving
        self.status = status
        dispatchers = ListedDispatcher.list(in: status) ?? []
        barriers = ListedBarrier.list(in: status) ?? []
        asOf = now
    }

    /// The daemon has told what it measures; nil where it does not know how to.
    mutating func take(metrics: MetricTable?) {
        self.metrics = metrics
    }

    /// The daemon has told who is connected; nil where it does not know how to.
    mutating func take(clients: [ListedClient]?) {
        self.clients = clients
    }

    /// The daemon cannot be asked.
    mutating func fail(_ error: any Error, at now: Timestamp) {
        if case ClientError.refused(let refusal) = error, refusal.reason == .unauthorized {
            presence = .refusing(refusal.message)
            return
        }
        guard case .away = presence else {
            presence = .away("\(error)", since: now)
            clients = nil
            return
        }
    }

    /// Something has happened in the daemon.
    mutating func take(_ update: WatchUpdate, at now: Timestamp) {
        switch update {
        case .dispatchers(let changed, let removed):
            dispatchers = Self.merged(dispatchers, changed, removed, by: \.id)
        case .barriers(let changed, let removed):
            barriers = Self.merged(barriers, changed, removed, by: \.id)
        case .began, .interrupted, .outcomes, .clients: return
        }
        asOf = now
    }

    private static func merged<Entry>(
        _ old: [Entry], _ changed: [Entry], _ removed: [String], by id: (Entry) -> String
    ) -> [Entry] {
        var news = Dictionary(changed.map { (id($0), $0) }) { $1 }
        let kept = old.filter { !removed.contains(id($0)) }.map { news.removeValue(forKey: id($0)) ?? $0 }
        return kept + changed.filter { news[id($0)] != nil }
    }
}

extension DaemonState {
    /// One of the counters of `status`.
    func counter(_ name: String) -> Int {
        status?.get(key: "counters", as: DataObject.self)?.get(key: name) ?? 0
    }

    /// What `status` says of the store.
    var store: DataObject {
        status?.get(key: "store") ?? [:]
    }

    /// A dispatcher.
    func dispatcher(_ id: String) -> ListedDispatcher? {
        dispatchers.first { $0.id == id }
    }

    /// The barriers that stand before a dispatcher, and the state of each for it, in the daemon's order.
    func gates(before dispatcher: String) -> [Gate] {
        barriers.compactMap { barrier in
            barrier.states.first { $0.dispatcher == dispatcher }.map { Gate(barrier: barrier, state: $0.state) }
        }
    }

    /// A barrier as it stands before one dispatcher.
    struct Gate: Sendable {
        let barrier: ListedBarrier
        let state: ListedBarrier.State
    }
}
