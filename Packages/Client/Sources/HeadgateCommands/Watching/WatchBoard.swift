import HeadgateClient
import HeadgateData

/// What is known of the daemon from a watch.
struct WatchBoard {
    /// Whether there is a daemon to know it from.
    enum Link: Equatable {
        /// It watches for us.
        case connected
        /// It went away; what is known is from before.
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

    /// About a second has passed: `moment` is in nanoseconds.
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
