import HeadgateClient
import HeadgateData

/// The state of the daemon, as a watch has reported it.
struct WatchBoard {
    /// The state of the connection to the daemon.
    enum Link: Equatable {
        /// The daemon reports changes. Next: `lost`.
        case connected
        /// The connection is lost, or there was none yet. The reported state is old. Next: `connected`, when a watch begins.
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

    /// Returns the events that a dispatcher delivers per second, or nil if that is not known yet.
    func rate(of dispatcher: String) -> Double? {
        gauges[dispatcher]?.perSecond
    }

    /// Notes that a watch has begun. The next notifications have the whole state.
    mutating func began() {
        link = .connected
        dispatchersByID.markOld()
        barriersByID.markOld()
        outcomesByID.markOld()
        gauges = [:]
    }

    /// Notes that the connection is lost.
    mutating func interrupted() {
        link = .lost
        gauges = [:]
    }

    /// Applies a notification. Unknown parts are ignored.
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

    /// Updates the rates. It is called about once a second.
    /// - Parameter moment: the time of the monotonic clock, in nanoseconds.
    mutating func secondPassed(at moment: Int64) {
        guard link == .connected else { return }
        for dispatcher in dispatchers { gauges[dispatcher.id, default: RateGauge()].take(dispatcher.sent, at: moment) }
    }

    private mutating func take(_ news: [OutcomeCounts]) {
        outcomesByID.take(news, by: \.dispatcher) { known, news in
            guard var sum = known else { return news }
            sum.add(news)
            return sum
        }
    }
}

/// The reported entries of a topic by ID. Notifications have only the changed entries.
private struct WatchedEntries<Entry> {
    private var entries: [String: Entry] = [:]
    private var isOld = false

    /// All entries, sorted by ID.
    var all: [Entry] {
        entries.sorted { $0.key < $1.key }.map(\.value)
    }

    /// Keeps the present entries only until the next notification, which has all entries.
    mutating func markOld() {
        isOld = true
    }

    /// Applies changed and removed entries.
    /// - Parameter merge: makes the new entry of the known one, or nil, and the reported one.
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

/// The growth of a counter between its last two readings.
struct RateGauge {
    private var last: (count: Int, moment: Int64)?
    /// The growth per second, or nil before the second reading.
    private(set) var perSecond: Double?

    /// Takes a reading.
    /// - Parameters:
    ///   - count: the counter. A smaller count than before starts again.
    ///   - moment: the time of the monotonic clock, in nanoseconds.
    mutating func take(_ count: Int, at moment: Int64) {
        defer { last = (count, moment) }
        guard let last, count >= last.count, moment > last.moment else {
            perSecond = nil
            return
        }
        perSecond = (Double(count) - Double(last.count)) / (Double(moment - last.moment) / 1_000_000_000)
    }
}
