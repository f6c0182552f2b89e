import HeadgateClient
import HeadgateData

extension BarrierText {
    /// What would open a barrier.
    func opening(_ barrier: BarrierSummary) -> String {
        if barrier.states.contains(where: { $0.state == .waiting }) { return "opens once it has said that it is open" }
        if let owner = barrier.owner { return "opens when its owner, \(owner), says so" }
        switch barrier.word {
        case "manual": return "`headgate resume \(barrier.held.first ?? "ID")` opens it"
        case "batching": return batching(barrier.configuration)
        case "backoff": return backoff(barrier)
        case "connectivity": return connectivity(barrier.configuration)
        case "schedule": return schedule(barrier.configuration)
        case "interval": return interval(barrier.configuration)
        case "rate": return "opens as its rate allows"
        case "application_status": return "opens when a client comes to the foreground"
        case "activation": return "opens when its board completes"
        default: return "opens when its own condition holds"
        }
    }

    private func batching(_ configuration: DataObject) -> String {
        let size = max(1, configuration.get(key: "batch_size") ?? 1)
        let enough = "opens once \(Quantity.counted(size, "event")) or a whole batch are pending"
        guard let wait = configuration.get(key: "max_wait_ms", as: Int.self) else { return enough }
        return "\(enough), or the oldest has waited \(Quantity.time(.milliseconds(wait)))"
    }

    private func backoff(_ barrier: BarrierSummary) -> String {
        let retries = dispatchers.filter { barrier.held.contains($0.id) }.compactMap(\.retryAt)
        guard let next = retries.min() else { return "opens at the next attempt" }
        return "opens at \(clock.text(next)) for the next attempt"
    }

    private func connectivity(_ configuration: DataObject) -> String {
        configuration.get(key: "wifi_only") == true
            ? "opens when there is Wi-Fi or Ethernet" : "opens when there is a network connection"
    }

    private func schedule(_ configuration: DataObject) -> String {
        guard let start = configuration.get(key: "start_hour", as: Int.self) else { return "opens inside its window" }
        return "opens at \(start):00"
    }

    private func interval(_ configuration: DataObject) -> String {
        guard let interval = configuration.get(key: "interval_ms", as: Int.self) else {
            return "opens at its next interval"
        }
        return "opens every \(Quantity.time(.milliseconds(interval)))"
    }
}
