import HeadgateCore
import HeadgateData
import HeadgateWire

@testable import HeadgateServer

/// The model of one watch: the notifications to its client, and the resulting state (Behaviour B10).
final class WatchAccount {
    let client: SimulatedClient
    let topics: Set<WatchTopic>
    /// The daemon's id of the watch, or nil before the answer.
    var id: String?
    /// True if the end of the watch was confirmed.
    var hasEnded = false
    /// Topics whose initial state was sent.
    private var begun: Set<WatchTopic> = []
    /// The state known to the client, and the time of the last notification for each topic.
    private(set) var known = WatchedState()
    private var lastWritten: [WatchTopic: Instant] = [:]

    init(_ client: SimulatedClient, _ topics: Set<WatchTopic>) {
        self.client = client
        self.topics = topics
    }

    /// True if the daemon has the watch.
    var isThere: Bool { id != nil && !hasEnded }
    /// True if its client may end the watch, and compare its state.
    var isOn: Bool { isThere && client.isTalking }

    // MARK: Written by the daemon

    /// Records a notification. Changes of states are combined, so that there is at most one notification in 5 ms.
    /// - Returns: False if the notification came too early.
    func written(_ topic: WatchTopic, at now: Instant) -> Bool {
        defer { lastWritten[topic] = now }
        return lastWritten[topic].map { now >= $0 + .milliseconds(5) } ?? true
    }

    // MARK: Read by the client

    /// Applies a notification, and checks it.
    /// - Parameter isWhole: True if a dispatcher existed all the time, so that its counters never restart.
    /// - Returns: A description of an error in the notification, or nil.
    func take(_ topic: WatchTopic, _ params: DataObject, isWhole: (String) -> Bool) -> String? {
        guard topics.contains(topic) else { return "a topic that was not requested" }
        let isFirst = begun.insert(topic).inserted
        switch topic {
        case .dispatchers:
            let former = known.dispatchers
            let problem = take(params, isFirst, \.dispatchers, "dispatchers")
            return problem ?? shrunk(former, isWhole).map { "the counter \($0) has decreased" }
        case .barriers: return take(params, isFirst, \.barriers, "barriers")
        case .outcomes: return takeOutcomes(params, isFirst, isWhole)
        case .clients: return takeClients(params)
        }
    }

    /// Applies changed entries, and removes deleted ones.
    private func take(
        _ params: DataObject, _ isFirst: Bool, _ entries: WritableKeyPath<WatchedState, [String: DataObject]>,
        _ name: String
    ) -> String? {
        let removed = params.getArray(key: "removed", of: String.self)?.compactMap { $0 } ?? ["?"]
        guard let reported = WatchedState.entries(params, name) else { return "no \(name)" }
        if reported.isEmpty, removed.isEmpty, !isFirst { return "without changes" }
        if let stale = reported.first(where: { known[keyPath: entries][$0.key] == $0.value }) {
            return "of \(stale.key), which has not changed"
        }
        if let unknown = removed.first(where: { known[keyPath: entries][$0] == nil }) {
            return "that \(unknown) was removed, which did not exist"
        }
        known[keyPath: entries].merge(reported) { $1 }
        for id in removed { known[keyPath: entries][id] = nil }
        return nil
    }

    /// Returns a counter that has decreased although its dispatcher existed all the time, or nil if there is none.
    private func shrunk(_ former: [String: DataObject], _ isWhole: (String) -> Bool) -> String? {
        for (id, new) in known.dispatchers where isWhole(id) {
            let names = ["sent", "failed", "dead", "expired", "evicted"]
            let less = names.first { name in
                new.get(key: name, as: Int.self) ?? -1 < former[id]?.get(key: name, as: Int.self) ?? 0
            }
            if let less { return "\(less) of \(id)" }
        }
        return nil
    }

    /// Applies outcomes since the previous notification, which must not be empty.
    private func takeOutcomes(_ params: DataObject, _ isFirst: Bool, _ isWhole: (String) -> Bool) -> String? {
        guard let outcomes = params.getArray(key: "outcomes", of: DataObject.self) else { return "no outcomes" }
        if outcomes.isEmpty, !isFirst { return "no outcome" }
        for case let outcome? in outcomes {
            guard let id = outcome.get(key: "dispatcher", as: String.self) else { return "outcomes without an id" }
            let before = known.outcomes[id]
            var sum = before ?? .init()
            sum.lastError = outcome.get(key: "last_error")
            for (name, number) in WatchedState.Outcomes.numbers(outcome) {
                if number < 0 { return "that \(number) are \(name) of \(id)" }
                sum.counts[name, default: 0] += number
            }
            if sum == before, isWhole(id) { return "of unchanged outcomes of \(id)" }
            known.outcomes[id] = sum
        }
        return nil
    }

    private func takeClients(_ params: DataObject) -> String? {
        guard let sessions = WatchedState.sessions(params) else { return "no clients" }
        if sessions.count != params.get(key: "count") { return "another number of clients than there are" }
        if sessions == known.sessions { return "of the same clients" }
        known.sessions = sessions
        return nil
    }

    // MARK: Expected state

    /// Returns a difference between the known and the actual state, or nil if there is none.
    func unknown(of present: WatchedState, isWhole: (String) -> Bool) -> String? {
        let differences = topics.sorted { $0.rawValue < $1.rawValue }.map { topic in
            switch topic {
            case .dispatchers: WatchAccount.difference(known.dispatchers, present.dispatchers)
            case .barriers: WatchAccount.difference(known.barriers, present.barriers)
            case .outcomes:
                WatchAccount.difference(
                    known.outcomes.filter { isWhole($0.key) }, present.outcomes.filter { isWhole($0.key) })
            case .clients: known.sessions == present.sessions ? nil : "the connected clients"
            }
        }
        return differences.lazy.compactMap { $0 }.first
    }

    private static func difference<Entry: Equatable>(_ known: [String: Entry], _ present: [String: Entry]) -> String? {
        let id = Set(known.keys).union(present.keys).sorted().first { known[$0] != present[$0] }
        return id.map { "\($0): \(String(describing: present[$0])), not \(String(describing: known[$0]))" }
    }
}

/// The actual state of everything that can be watched, in the wire format.
struct WatchedState {
    /// Entries as in `dispatcher.list`, without the age of the oldest event, which is not a change.
    var dispatchers: [String: DataObject] = [:]
    /// Entries as in `barrier.list`.
    var barriers: [String: DataObject] = [:]
    var outcomes: [String: Outcomes] = [:]
    /// The names of sessions and the names that clients chose, or nil if unknown.
    var sessions: [[String]]?

    /// The outcomes of one dispatcher's events.
    struct Outcomes: Equatable {
        var counts: [String: Int] = [:]
        var lastError: String?

        /// Names of counts among the outcomes, and their names in the list of dispatchers.
        static let names = ["delivered": "sent", "dead": "dead", "expired": "expired", "evicted": "evicted"]

        static func numbers(_ outcome: DataObject) -> [(name: String, number: Int)] {
            (names.keys + ["retried"]).map { ($0, outcome.get(key: $0) ?? -1) }
        }
    }

    /// Creates an unknown state.
    init() {}

    /// Creates the state of a service.
    init(_ service: Service) {
        var writer = JSONWriter()
        OutputMembers.all([DispatcherMethods.all, BarrierMethods.all]).writeObject(service.gate, into: &writer)
        guard case .object(let lists)? = try? DataItem(parsing: writer.bytes) else { return }
        dispatchers = WatchedState.entries(lists, "dispatchers") ?? [:]
        barriers = WatchedState.entries(lists, "barriers") ?? [:]
        outcomes = dispatchers.mapValues { entry in
            let counts = Outcomes.names.mapValues { entry.get(key: $0) ?? -1 }
            return Outcomes(counts: counts, lastError: entry.get(key: "last_error"))
        }
        for id in outcomes.keys {
            let retried = service.gate.dispatcherSummaries.first { $0.id == id }?.counters[.retried]
            outcomes[id]?.counts["retried"] = retried
        }
        sessions = service.sessions.all.sorted { $0.number < $1.number }.map { [$0.name, $0.caller.client ?? ""] }
    }

    /// For each dispatcher, its state and the reasons for it.
    var states: [String: [DataItem?]] {
        dispatchers.mapValues { entry in ["state", "blocked_by", "flushing"].map { entry[$0] } }
    }

    static func entries(_ params: DataObject, _ name: String) -> [String: DataObject]? {
        guard let list = params.getArray(key: name, of: DataObject.self) else { return nil }
        return list.reduce(into: [:]) { entries, entry in
            var entry = entry ?? [:]
            entry["oldest_ms"] = nil
            entries[entry.get(key: "id") ?? "?"] = entry
        }
    }

    static func sessions(_ params: DataObject) -> [[String]]? {
        params.getArray(key: "clients", of: DataObject.self)?.map { client in
            ["session", "client"].map { client?.get(key: $0) ?? "" }
        }
    }
}
