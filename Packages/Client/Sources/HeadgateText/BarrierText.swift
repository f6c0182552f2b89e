import HeadgateClient
import HeadgateData

/// Describes barriers: which dispatchers they block, since when, why, and what would open them (Behaviour B10).
public struct BarrierText {
    let dispatchers: [ListedDispatcher]
    let clock: WallClock

    /// - Parameters:
    ///   - dispatchers: all dispatchers.
    ///   - clock: the present time and the time zone.
    public init(dispatchers: [ListedDispatcher], clock: WallClock) {
        self.dispatchers = dispatchers
        self.clock = clock
    }

    /// Returns the reasons why a dispatcher is blocked, one line for each barrier.
    public func holders(of dispatcher: ListedDispatcher, among barriers: [ListedBarrier]) -> [String] {
        holders(of: dispatcher.blockedBy, before: dispatcher.id, among: barriers)
    }

    /// Returns the same lines for some barriers before a dispatcher, by their IDs.
    public func holders(of ids: [String], before dispatcher: String, among barriers: [ListedBarrier]) -> [String] {
        ids.map { id in
            guard let barrier = barriers.first(where: { $0.id == id }) else { return "blocked by \(id)" }
            return "blocked by \(id)\(circumstances(of: barrier, holding: [dispatcher]))"
        }
    }

    /// Returns `blocks collect since 11:58:00 (2 min): paused: maintenance; …`, without the barrier's name.
    public func sentence(_ barrier: ListedBarrier) -> String {
        "blocks \(effect(barrier))"
    }

    /// Returns the same text without `blocks`.
    public func effect(_ barrier: ListedBarrier) -> String {
        "\(named(barrier.held))\(circumstances(of: barrier, holding: barrier.held))"
    }

    private func circumstances(of barrier: ListedBarrier, holding ids: [String]) -> String {
        let why = cause(of: barrier, holding: ids).map { ": \($0)" } ?? ""
        let flush = barrier.isFlushable ? "a flush passes it" : "a flush does not pass it"
        return "\(since(barrier))\(why); \(opening(of: barrier, holding: ids)); \(flush)"
    }

    private func since(_ barrier: ListedBarrier) -> String {
        guard let since = barrier.since else { return "" }
        return " since \(clock.text(since)) (\(Quantity.time(clock.age(since))))"
    }

    private func named(_ ids: [String]) -> String {
        ids.joined(separator: ", ")
    }

    // MARK: Reason

    /// Returns the reason why a barrier blocks these dispatchers, or nil if there is none to show.
    public func cause(of barrier: ListedBarrier, holding ids: [String]) -> String? {
        let reason = barrier.reason.map(clock.localised)
        if barrier.isWaiting { return reason ?? "the barrier has not reported a state yet" }
        switch barrier.word {
        case "manual": return reason.map { "paused: \($0)" } ?? "paused, no reason given"
        case "batching": return pending(BatchSize(barrier.configuration), of: ids)
        case "backoff": return "backing off after \(reason ?? "a failure")"
        case "connectivity": return reason ?? "no suitable network connection"
        case "schedule": return schedule(barrier)
        case "interval": return "between two intervals"
        case "rate": return reason ?? "rate limit reached"
        case "application_status": return reason ?? "every client is in the background"
        case "activation": return reason ?? "the board has not completed"
        default: return reason
        }
    }

    /// Returns the reason of a schedule. Its time is local, also if the hours beside it are those of another time zone.
    private func schedule(_ barrier: ListedBarrier) -> String {
        guard let reason = barrier.reason else { return "outside the schedule" }
        let local = clock.localised(reason)
        let isElsewhere = local != reason && barrier.configuration["time_zone"] != nil
        return isElsewhere ? "\(local), this machine's time" : local
    }

    private func pending(_ size: BatchSize, of ids: [String]) -> String {
        let held = dispatchers.filter { ids.contains($0.id) }
        let events = Quantity.counted(size.events, "event")
        switch held.count {
        case 0: return "less than a full batch of \(events) is pending"
        case 1: return "\(held[0].pending) of \(events) \(held[0].pending == 1 ? "is" : "are") pending"
        default:
            let counts = held.map { "\($0.pending) for \($0.id)" }.joined(separator: ", ")
            return "of \(events), \(counts) are pending"
        }
    }

    // MARK: Condition of opening

    /// Returns the condition that would open a barrier that blocks these dispatchers.
    public func opening(of barrier: ListedBarrier, holding ids: [String]) -> String {
        if barrier.isWaiting { return "opens when the barrier reports the state open" }
        if barrier.kind == "WorkerBarrier" {
            return "opens when a worker subscribes, like `headgate worker \(ids.first ?? "ID")`"
        }
        if barrier.kind == "RemoteBarrier" || barrier.owner != nil { return remote(barrier) }
        switch barrier.word {
        case "manual": return "`headgate resume \(ids.first ?? "ID")` opens it"
        case "batching": return batching(BatchSize(barrier.configuration))
        case "backoff": return backoff(ids)
        case "connectivity": return connectivity(barrier.configuration)
        case "schedule": return schedule(barrier.configuration)
        case "interval": return interval(barrier.configuration)
        case "rate": return rate(barrier.configuration)
        case "application_status": return "opens when a client comes to the foreground"
        case "activation": return "opens when the board completes"
        default: return "opens when its condition is met"
        }
    }

    private func remote(_ barrier: ListedBarrier) -> String {
        guard let owner = barrier.owner else {
            return "opens when a client takes over the barrier and opens it"
        }
        return "opens when its owner, \(owner), opens it"
    }

    private func batching(_ size: BatchSize) -> String {
        let enough = "opens once \(Quantity.counted(size.events, "event")) or a whole batch are pending"
        guard let wait = size.longestWait else { return enough }
        return "\(enough), or the oldest event is \(Quantity.time(wait)) old"
    }

    private func backoff(_ ids: [String]) -> String {
        let retries = dispatchers.filter { ids.contains($0.id) }.compactMap(\.retryAt)
        let now = "`headgate retry \(ids.first ?? "ID")` retries now"
        guard let next = retries.min() else { return "opens at the next attempt; \(now)" }
        return "next attempt at \(clock.text(next)) (in \(Quantity.time(clock.wait(until: next)))); \(now)"
    }

    private func connectivity(_ configuration: DataObject) -> String {
        configuration.get(key: "wifi_only") == true
            ? "opens when there is Wi-Fi or Ethernet" : "opens when there is a network connection"
    }

    private func schedule(_ configuration: DataObject) -> String {
        let start: Int = configuration.get(key: "start_hour") ?? 0
        let end: Int = configuration.get(key: "end_hour") ?? 24
        let days = configuration.get(key: "days", as: [String].self).map { " on \($0.joined(separator: ", "))" } ?? ""
        let zone = configuration.get(key: "time_zone", as: String.self).map { ", \($0)" } ?? ""
        return "opens from \(start):00 to \(end):00\(days)\(zone)"
    }

    private func interval(_ configuration: DataObject) -> String {
        guard let interval = configuration.get(key: "interval_ms", as: Int.self) else {
            return "opens at the next interval"
        }
        let open: Int = configuration.get(key: "open_ms") ?? 1_000
        return "opens every \(Quantity.time(.milliseconds(interval))) for \(Quantity.time(.milliseconds(open)))"
    }

    private func rate(_ configuration: DataObject) -> String {
        guard case .number(let rate)? = configuration["per_second"] else { return "opens as the rate allows" }
        return "opens as the rate allows, \(rate.text) a second"
    }
}

/// The settings of a BatchingBarrier (Behaviour B22).
private struct BatchSize {
    /// The number of pending events at which the barrier opens, if the dispatcher takes as many at once.
    let events: Int
    /// The age of the oldest event at which the barrier opens, or nil if age does not matter.
    let longestWait: Duration?

    init(_ configuration: DataObject) {
        events = max(1, configuration.get(key: "batch_size") ?? 1)
        longestWait = configuration.get(key: "max_wait_ms", as: Int.self).map { .milliseconds($0) }
    }
}

extension ListedBarrier {
    /// True if the barrier has not given a state for some dispatcher (Behaviour B3).
    fileprivate var isWaiting: Bool {
        states.contains { $0.state == .waiting }
    }
}
