import HeadgateClient
import HeadgateData

extension BarrierText {
    /// What would open a barrier that holds these dispatchers.
    func opening(of barrier: ListedBarrier, holding ids: [String]) -> String {
        if barrier.isWaiting { return "opens once it says so" }
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
        case "activation": return "opens when its board completes"
        default: return "opens when its own condition holds"
        }
    }

    private func remote(_ barrier: ListedBarrier) -> String {
        guard let owner = barrier.owner else { return "nobody owns it: opens when a client takes it over and says so" }
        return "opens when its owner, \(owner), says so"
    }

    private func batching(_ size: BatchSize) -> String {
        let enough = "opens once \(Quantity.counted(size.events, "event")) or a whole batch are pending"
        guard let wait = size.longestWait else { return enough }
        return "\(enough), or the oldest has waited \(Quantity.time(wait))"
    }

    private func backoff(_ ids: [String]) -> String {
        let retries = dispatchers.filter { ids.contains($0.id) }.compactMap(\.retryAt)
        guard let next = retries.min() else { return "opens at the next attempt" }
        return "tries again at \(clock.text(next)) (in \(Quantity.time(clock.wait(until: next))))"
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
            return "opens at its next interval"
        }
        let open: Int = configuration.get(key: "open_ms") ?? 1_000
        return "opens every \(Quantity.time(.milliseconds(interval))) for \(Quantity.time(.milliseconds(open)))"
    }

    private func rate(_ configuration: DataObject) -> String {
        guard case .number(let rate)? = configuration["per_second"] else { return "opens as its rate allows" }
        return "opens as its rate allows, \(rate.text) a second"
    }
}
