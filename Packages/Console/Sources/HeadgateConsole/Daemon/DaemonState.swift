import HeadgateClient
import HeadgateData

/// The daemon's last known state. It is the present state while the daemon answers.
struct DaemonState: Sendable {
    /// The availability of the daemon.
    enum Presence: Equatable, Sendable {
        /// No call to the daemon has ended yet.
        case unknown
        /// The daemon answers.
        case serving
        /// The daemon has not answered since that time, for this reason.
        case away(String, since: Timestamp)
        /// The daemon refuses the console's calls, for this reason.
        case refusing(String)
    }

    private(set) var presence = Presence.unknown
    /// The last result of `status`, or nil before the first.
    private(set) var status: DataObject?
    private(set) var dispatchers: [ListedDispatcher] = []
    private(set) var barriers: [ListedBarrier] = []
    /// The connected clients. Nil if they were not requested, or if the daemon is too old to return them.
    private(set) var clients: [ListedClient]?
    /// The daemon's metrics. Nil if they were not read, or if the daemon is too old to return them.
    private(set) var metrics: MetricTable?
    /// The time of the last information from the daemon.
    private(set) var asOf: Timestamp?

    /// True if the daemon answers and is ready.
    var isReady: Bool {
        presence == .serving && status?.get(key: "ready") ?? false
    }

    /// Stores a result of `status`.
    mutating func take(status: DataObject, at now: Timestamp) {
        presence = .serving
        self.status = status
        dispatchers = ListedDispatcher.list(in: status) ?? []
        barriers = ListedBarrier.list(in: status) ?? []
        asOf = now
    }

    /// Stores the metrics, or nil if the daemon has none.
    mutating func take(metrics: MetricTable?) {
        self.metrics = metrics
    }

    /// Stores the connected clients, or nil if the daemon cannot return them.
    mutating func take(clients: [ListedClient]?) {
        self.clients = clients
    }

    /// Records that a call to the daemon has failed.
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

    /// Applies a notification of the watch.
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
    /// Returns a counter of `status`.
    func counter(_ name: String) -> Int {
        status?.get(key: "counters", as: DataObject.self)?.get(key: name) ?? 0
    }

    /// The section `store` of `status`.
    var store: DataObject {
        status?.get(key: "store") ?? [:]
    }

    /// Returns a dispatcher, or nil if there is none of this ID.
    func dispatcher(_ id: String) -> ListedDispatcher? {
        dispatchers.first { $0.id == id }
    }

    /// Returns the barriers before a dispatcher with their states, in the daemon's order.
    func gates(before dispatcher: String) -> [Gate] {
        barriers.compactMap { barrier in
            barrier.states.first { $0.dispatcher == dispatcher }.map { Gate(barrier: barrier, state: $0.state) }
        }
    }

    /// A barrier and its state for one dispatcher.
    struct Gate: Sendable {
        let barrier: ListedBarrier
        let state: ListedBarrier.State
    }
}
