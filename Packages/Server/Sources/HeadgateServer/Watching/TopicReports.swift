import HeadgateCore
import HeadgateData

/// What there is to watch.
struct WatchSources {
    let gate: Headgate
    let sessions: SessionRegistry
}

/// Knows what one watch was told of a topic, and so what is new to it. A slow reader simply asks less often, and gets
/// the latest state.
protocol TopicReport {
    /// Takes note of how things stand now.
    /// - Returns: writes what is new as members of `changed`; nil when nothing is. There is always something the first
    ///   time: how things stand.
    mutating func news(from sources: WatchSources) -> ((inout JSONWriter) -> Void)?
}

/// What a client may watch (Protocol, `watch`).
enum WatchTopic: String, CaseIterable, Sendable {
    /// The ways to the dispatchers, their queues and counters.
    case dispatchers
    /// Which barriers there are, and their states.
    case barriers
    /// What becomes of events.
    case outcomes
    /// Who is connected.
    case clients

    /// A report to somebody who has not been told anything yet.
    var report: any TopicReport {
        switch self {
        case .dispatchers: DispatchersReport()
        case .barriers: BarriersReport()
        case .outcomes: OutcomesReport()
        case .clients: ClientsReport()
        }
    }
}

/// The topic `dispatchers`: those that changed, as `dispatcher.list` has them.
private struct DispatchersReport: TopicReport {
    private var told = ToldEntries<DispatcherSummary>(by: \.id)

    mutating func news(from sources: WatchSources) -> ((inout JSONWriter) -> Void)? {
        let summaries = sources.gate.dispatcherSummaries
        guard let news = told.tell(summaries.map(\.asTold)) else { return nil }
        return { writer in
            writer.dispatchers(news.changed.map { summaries[$0] })
            writer.member("removed", item: .array(news.removed.map { .string($0) }))
        }
    }
}

extension DispatcherSummary {
    /// What counts as a change of it: not that an event grows older, nor what is not in the list.
    var asTold: DispatcherSummary {
        var summary = self
        (summary.oldest, summary.inFlightBytes) = (nil, 0)
        summary.counters = counters.only { $0.nameInList != nil }
        return summary
    }
}

/// The topic `barriers`: those that changed, as `barrier.list` has them, and those that are gone.
private struct BarriersReport: TopicReport {
    private var told = ToldEntries<BarrierSummary>(by: \.identity.id)

    mutating func news(from sources: WatchSources) -> ((inout JSONWriter) -> Void)? {
        let summaries = sources.gate.barrierSummaries
        guard let news = told.tell(summaries) else { return nil }
        return { writer in
            writer.barriers(news.changed.map { summaries[$0] })
            writer.member("removed", item: .array(news.removed.map { .string($0) }))
        }
    }
}

/// The topic `outcomes`: what became of events since the last notification, by dispatcher. The first one counts from the
/// service's start, so that the sum of all is what `dispatcher.list` says.
private struct OutcomesReport: TopicReport {
    private var told: [String: DispatcherOutcomes]?

    mutating func news(from sources: WatchSources) -> ((inout JSONWriter) -> Void)? {
        let outcomes = sources.gate.outcomes
        let old = told ?? [:]
        let news = outcomes.compactMap { $0.news(to: old[$0.dispatcher]) }
        guard told == nil || !news.isEmpty else { return nil }
        told = Dictionary(outcomes.map { ($0.dispatcher, $0) }) { first, _ in first }
        return { $0.outcomes(news) }
    }
}

extension DispatcherOutcomes {
    /// What has come since, for who was told these; nil when it is nothing that is told: not every counter is an outcome.
    func news(to told: DispatcherOutcomes?) -> DispatcherOutcomes? {
        guard let told else { return self }
        let news = since(told)
        let isNew = DispatcherCounter.allCases.contains { $0.nameAsOutcome != nil && news.counters[$0] != 0 }
        return isNew || lastError != told.lastError ? news : nil
    }
}

extension JSONWriter {
    fileprivate mutating func outcomes(_ outcomes: [DispatcherOutcomes]) {
        member("outcomes")
        beginArray()
        for outcome in outcomes {
            element()
            beginObject()
            member("dispatcher", outcome.dispatcher)
            counters(outcome.counters, named: \.nameAsOutcome)
            member("last_error", item: outcome.lastError.map { .string($0) } ?? .null)
            endObject()
        }
        endArray()
    }
}

/// The topic `clients`: how many are connected, and who they are.
private struct ClientsReport: TopicReport {
    private var told: [SessionIdentity]?

    mutating func news(from sources: WatchSources) -> ((inout JSONWriter) -> Void)? {
        let clients = sources.sessions.inOrder.map(SessionIdentity.init)
        guard told != clients else { return nil }
        told = clients
        return { Self.write(clients, into: &$0) }
    }

    private static func write(_ clients: [SessionIdentity], into writer: inout JSONWriter) {
        writer.member("count", clients.count)
        writer.member("clients")
        writer.beginArray()
        for client in clients {
            writer.element()
            writer.beginObject()
            client.write(into: &writer)
            writer.endObject()
        }
        writer.endArray()
    }
}

/// What somebody was told last of things that have ids.
struct ToldEntries<Entry: Equatable> {
    private let id: (Entry) -> String
    private var told: NameTable<Entry>?

    /// What is new.
    struct News: Equatable {
        /// Places of the entries that are new or have changed.
        var changed: [Int]
        /// Ids of those that are gone.
        var removed: [String]
    }

    /// Nothing told yet.
    init(by id: @escaping (Entry) -> String) {
        self.id = id
    }

    /// Takes note that these are told now, whole.
    /// - Returns: nil when nothing is new; never the first time.
    mutating func tell(_ entries: [Entry]) -> News? {
        let old = told ?? NameTable()
        var new = NameTable<Entry>()
        for entry in entries where new[id(entry)] == nil { new[id(entry)] = entry }
        let changed = entries.indices.filter { old[id(entries[$0])] != entries[$0] }
        let removed = old.keys.filter { new[$0] == nil }.sorted()
        guard told == nil || !changed.isEmpty || !removed.isEmpty else { return nil }
        told = new
        return News(changed: changed, removed: removed)
    }
}
