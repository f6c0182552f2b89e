import HeadgateClient
import HeadgateData

/// What is known of the daemon from a watch.
struct WatchBoard {
    /// Whether there is a daemon to know it from.
    enum Link: Equatable {
        /// The daemon watches for us.
        case connected
        /// The daemon went away; what is known is from before.
        case lost
    }

    private(set) var link = Link.lost
    private var dispatchersByID = WatchedEntries<ListedDispatcher>()
    private var barriersByID = WatchedEntries<ListedBarrier>()
    private var outcomesByID = WatchedEntries<OutcomeCounts>()
    private(set) var clients: [ListedClient] = []
    private var gauges: [String: RateGauge] = [:]

    var dispatchers: [ListedDispatcher] { dispatchersByID.all }
    var barriers: [ListedBarrier] { barriersByID.all }
    var outcomes: [OutcomeCounts] { outcomesByID.all }

    /// How many events a dispatcher delivers in a second; nil until that is known.
    func rate(of dispatcher: String) -> Double? {
        gauges[dispatcher]?.perSecond
    }

    /// The daemon watches, and tells everything anew.
    mutating func began() {
        link = .connected
        dispatchersByID.markOld()
        barriersByID.markOld()
        outcomesByID.markOld()
        gauges = [:]
    }

    /// The daemon is gone.
    mutating func interrupted() {
        link = .lost
        gauges = [:]
    }

    /// The daemon tells of a change; what is not understood is left aside.
    mutating func changed(_ params: DataObject) {
        let removed: [String] = params.get(key: "removed") ?? []
        switch params.get(key: "topic", as: String.self).flatMap(WatchTopic.init(rawValue:)) {
        case .dispatchers:
            dispatchersByID.take(ListedDispatcher.list(in: params) ?? [], removed: removed, by: \.id)
            for id in removed { gauges[id] = nil }
        case .barriers: barriersByID.take(ListedBarrier.list(in: params) ?? [], removed: removed, by: \.id)
        case .outcomes: take(OutcomeCounts.list(in: params) ?? [])
        case .clients: clients = ListedClient.list(in: params) ?? []
        case nil: return
        }
    }

    /// Takes note that about a second has passed: `moment` is in nanoseconds.
    mutating func secondPassed(at moment: Int64) {
        guard link == .connected else { return }
        for dispatcher in dispatchers { gauges[dispatcher.id, default: RateGauge()].look(dispatcher.sent, at: moment) }
    }

    private mutating func take(_ news: [OutcomeCounts]) {
        outcomesByID.take(news, by: \.dispatcher) { known, news in
            guard var sum = known else { return news }
            sum.add(news)
            return sum
        }
    }
}

/// What is known of things that have ids, from notifications that tell only what is new of them.
private struct WatchedEntries<Entry> {
    private var entries: [String: Entry] = [:]
    private var isOld = false

    /// All entries, by their ids.
    var all: [Entry] {
        entries.sorted { $0.key < $1.key }.map(\.value)
    }

    /// What is known counts only until the next news, which tell everything.
    mutating func markOld() {
        isOld = true
    }

    /// Takes in what has changed and what is gone.
    /// - Parameter merge: makes an entry of the one that was known, if there was one, and the news of it.
    mutating func take(
        _ changed: [Entry], removed: [String] = [], by id: (Entry) -> String,
        merge: (Entry?, Entry) -> Entry = { $1 }
    ) {
        if isOld { entries = [:] }
        isOld = false
        for entry in changed { entries[id(entry)] = merge(entries[id(entry)], entry) }
        for id in removed { entries[id] = nil }
    }
}

/// How fast a counter grows: by what it grew between the last two looks at it.
struct RateGauge {
    private var last: (count: Int, moment: Int64)?
    /// The rate; nil until the counter has been looked at twice.
    private(set) var perSecond: Double?

    /// The counter stands at `count` at a moment in nanoseconds. One that went back has begun anew.
    mutating func look(_ count: Int, at moment: Int64) {
        defer { last = (count, moment) }
        guard let last, count >= last.count, moment > last.moment else {
            perSecond = nil
            return
        }
        perSecond = (Double(count) - Double(last.count)) / (Double(moment - last.moment) / 1_000_000_000)
    }
}
