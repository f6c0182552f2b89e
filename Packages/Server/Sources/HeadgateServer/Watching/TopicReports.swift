import HeadgateCore
import HeadgateData

/// The parts of the service that watches read.
struct WatchSources {
    let gate: Headgate
    let sessions: SessionRegistry
}

/// The state of a topic as one watch reported it last. The report finds the changes since then. A slow client gets
/// fewer reports, each with the latest state.
protocol TopicReport {
    /// Compares the present state with the last report, and remembers the present state as reported.
    /// - Returns: the changes, or nil if there are none. The first call always returns the whole state.
    mutating func news(from sources: WatchSources) -> TopicNews?
}

/// The changes of one topic, as `changed` reports them. The members of other topics are nil.
struct TopicNews {
    var dispatchers: [DispatcherSummary]?
    var barriers: [BarrierSummary]?
    /// The ids of removed dispatchers or barriers.
    var removed: [String]?
    var outcomes: [DispatcherOutcomes]?
    /// The progress of an erasure, `.some(nil)` if the erasure has ended, or nil if nothing has changed.
    var erasure: ErasureProgress??
    var clients: [SessionIdentity]?
}

/// The topics that a client may watch (Protocol, `watch`).
enum WatchTopic: String, CaseIterable, Sendable {
    /// The dispatchers' states, queues and counters.
    case dispatchers
    /// The barriers and their states.
    case barriers
    /// The outcomes of events.
    case outcomes
    /// The connected clients.
    case clients

    /// An empty report, for a watch that has reported nothing yet.
    var report: any TopicReport {
        switch self {
        case .dispatchers: DispatchersReport()
        case .barriers: BarriersReport()
        case .outcomes: OutcomesReport()
        case .clients: ClientsReport()
        }
    }
}

/// The report of the topic `dispatchers`: the changed dispatchers, in the form of `dispatcher.list`.
private struct DispatchersReport: TopicReport {
    private var reported = ReportedEntries<DispatcherSummary>(by: \.id)

    mutating func news(from sources: WatchSources) -> TopicNews? {
        let summaries = sources.gate.dispatcherSummaries
        guard let news = reported.news(summaries.map(\.reported)) else { return nil }
        return TopicNews(dispatchers: news.changed.map { summaries[$0] }, removed: news.removed)
    }
}

extension DispatcherSummary {
    /// The summary without the parts that `dispatcher.list` leaves out or that change all the time, like the oldest
    /// event's age.
    var reported: DispatcherSummary {
        var summary = self
        (summary.oldest, summary.inFlightBytes) = (nil, 0)
        summary.counters = counters.only { $0.nameInList != nil }
        return summary
    }
}

/// The report of the topic `barriers`: the changed barriers, in the form of `barrier.list`, and the IDs of the removed
/// ones.
private struct BarriersReport: TopicReport {
    private var reported = ReportedEntries<BarrierSummary>(by: \.identity.id)

    mutating func news(from sources: WatchSources) -> TopicNews? {
        let summaries = sources.gate.barrierSummaries
        guard let news = reported.news(summaries) else { return nil }
        return TopicNews(barriers: news.changed.map { summaries[$0] }, removed: news.removed)
    }
}

/// The report of the topic `outcomes`: the counts by dispatcher since the last report, and the progress of an erasure.
/// The first report counts from the service's start, so that the sum of all reports equals the counts in
/// `dispatcher.list`.
private struct OutcomesReport: TopicReport {
    private var reported: [String: DispatcherOutcomes]?
    private var reportedErasure: ErasureProgress?

    mutating func news(from sources: WatchSources) -> TopicNews? {
        let outcomes = sources.gate.outcomes
        let old = reported ?? [:]
        let news = outcomes.compactMap { $0.news(to: old[$0.dispatcher]) }
        let erasure = sources.gate.erasure
        let isErasureNews = erasure != reportedErasure
        guard reported == nil || !news.isEmpty || isErasureNews else { return nil }
        reported = Dictionary(outcomes.map { ($0.dispatcher, $0) }) { first, _ in first }
        reportedErasure = erasure
        return TopicNews(outcomes: news, erasure: isErasureNews ? .some(erasure) : nil)
    }
}

extension DispatcherOutcomes {
    /// Returns the difference from an earlier report, or nil if neither a counter of the topic nor the last error has
    /// changed.
    func news(to reported: DispatcherOutcomes?) -> DispatcherOutcomes? {
        guard let reported else { return self }
        let news = since(reported)
        let isNew = DispatcherCounter.allCases.contains { $0.nameAsOutcome != nil && news.counters[$0] != 0 }
        return isNew || lastError != reported.lastError ? news : nil
    }
}

extension ErasureProgress {
    /// The steps of an erasure, as clients see them.
    enum Step: String, CaseIterable, Sendable {
        /// Events are only counted, because of `dry_run`.
        case counting
        case erasing
        /// All events are gone, and their bytes are being removed from the files.
        case removing
    }

    var step: Step { isDryRun ? .counting : isRemoving ? .removing : .erasing }
}

/// The report of the topic `clients`: the number of connected clients, and their identities.
private struct ClientsReport: TopicReport {
    private var reported: [SessionIdentity]?

    mutating func news(from sources: WatchSources) -> TopicNews? {
        let clients = sources.sessions.inOrder.map(SessionIdentity.init)
        guard reported != clients else { return nil }
        reported = clients
        return TopicNews(clients: clients)
    }
}

/// The entries of a list as they were last reported, by their IDs.
struct ReportedEntries<Entry: Equatable> {
    private let id: (Entry) -> String
    private var reported: NameTable<Entry>?

    /// The difference between two reports.
    struct News: Equatable {
        /// The indices of the entries that are new or have changed.
        var changed: [Int]
        /// The IDs of the entries that were removed.
        var removed: [String]
    }

    /// Makes a table with nothing reported.
    init(by id: @escaping (Entry) -> String) {
        self.id = id
    }

    /// Compares the whole list with the last report, and remembers the list as reported.
    /// - Returns: the difference, or nil if there is none. The first call never returns nil.
    mutating func news(_ entries: [Entry]) -> News? {
        let old = reported ?? NameTable()
        var new = NameTable<Entry>()
        for entry in entries where new[id(entry)] == nil { new[id(entry)] = entry }
        let changed = entries.indices.filter { old[id(entries[$0])] != entries[$0] }
        let removed = old.keys.filter { new[$0] == nil }.sorted()
        guard reported == nil || !changed.isEmpty || !removed.isEmpty else { return nil }
        reported = new
        return News(changed: changed, removed: removed)
    }
}
