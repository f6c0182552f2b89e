import HeadgateClient
import HeadgateData

extension BarrierText {
    /// Why a barrier holds these dispatchers; nil where there is nothing to say.
    func cause(of barrier: ListedBarrier, holding ids: [String]) -> String? {
        let reason = barrier.reason.map(clock.localised)
        if barrier.isWaiting { return reason ?? "it has not said yet whether it is open" }
        switch barrier.word {
        case "manual": return reason.map { "paused: \($0)" } ?? "paused, with no reason given"
        case "batching": return pending(BatchSize(barrier.configuration), of: ids)
        case "backoff": return "it waits after \(reason ?? "a failure")"
        case "connectivity": return reason ?? "there is no network connection that will do"
        case "schedule": return reason ?? "outside its hours"
        case "interval": return "between two of its openings"
        case "rate": return reason ?? "faster than its rate"
        case "application_status": return reason ?? "every client is in the background"
        case "activation": return reason ?? "its board has not completed"
        default: return reason
        }
    }

    private func pending(_ size: BatchSize, of ids: [String]) -> String {
        let held = dispatchers.filter { ids.contains($0.id) }
        let events = Quantity.counted(size.events, "event")
        switch held.count {
        case 0: return "fewer than \(events) are pending"
        case 1: return "\(held[0].pending) of \(events) \(held[0].pending == 1 ? "is" : "are") pending"
        default:
            let counts = held.map { "\($0.pending) for \($0.id)" }.joined(separator: ", ")
            return "of \(events) there are pending \(counts)"
        }
    }
}

/// What a BatchingBarrier waits for (Behaviour B22).
struct BatchSize {
    /// So many pending events, if the dispatcher takes as many at once.
    let events: Int
    /// Or this age of the oldest; nil if that does not count.
    let longestWait: Duration?

    init(_ configuration: DataObject) {
        events = max(1, configuration.get(key: "batch_size") ?? 1)
        longestWait = configuration.get(key: "max_wait_ms", as: Int.self).map { .milliseconds($0) }
    }
}

extension ListedBarrier {
    /// Whether it has not given a state for somebody (Behaviour B3).
    var isWaiting: Bool {
        states.contains { $0.state == .waiting }
    }
}
