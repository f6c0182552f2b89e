import HeadgateClient
import HeadgateData
import HeadgateText

/// The present problems, each with advice to the operator.
struct Problems {
    let state: DaemonState
    let clock: WallClock

    /// One problem.
    struct Problem: Equatable {
        let title: String
        let advice: String
        /// The affected dispatcher, or nil for the whole daemon.
        var dispatcher: String?
        /// True if events were lost, or if something does not work.
        var isBad = false
    }

    /// All problems, the worst first.
    var all: [Problem] {
        let all = everything
        return all.filter(\.isBad) + all.filter { !$0.isBad }
    }

    private var everything: [Problem] {
        presence + (state.presence == .serving ? warnings + network : [])
            + state.dispatchers.flatMap { holds($0) + failures($0) + losses($0) } + counters
    }

    private var presence: [Problem] {
        switch state.presence {
        case .away(let cause, let since):
            let advice =
                "Is headgated running? See `systemctl status headgate` and its log. This page reconnects by itself."
            return [
                Problem(
                    title: "The daemon has been unreachable since \(clock.text(since)): \(cause)", advice: advice,
                    isBad: true)
            ]
        case .refusing(let cause):
            let advice = "Grant `observe` to this console's user in `access` of the daemon's settings."
            return [Problem(title: "The daemon refuses the console: \(cause)", advice: advice, isBad: true)]
        case .serving where !state.isReady:
            return [
                Problem(title: "The daemon is not ready", advice: "It may be starting; see its log.", isBad: true)
            ]
        case .serving, .unknown: return []
        }
    }

    /// The warnings of `status`.
    private var warnings: [Problem] {
        (state.status?.get(key: "warnings", as: [String].self) ?? []).map {
            Problem(title: $0, advice: "Fix the settings, then run `headgate config reload`.")
        }
    }

    private var network: [Problem] {
        let network = state.status?.get(key: "network", as: DataObject.self) ?? [:]
        guard network.get(key: "state") == "disconnected" else { return [] }
        return [
            Problem(
                title: "This machine has no network connection",
                advice: "Events stay in the store and are sent when the network is back.")
        ]
    }

    /// Returns the barriers that block a dispatcher for an unusual reason. Barriers that open and close regularly are
    /// left out.
    private func holds(_ dispatcher: ListedDispatcher) -> [Problem] {
        let words = BarrierText(dispatchers: state.dispatchers, clock: clock)
        return state.gates(before: dispatcher.id).compactMap { gate in
            let barrier = gate.barrier
            guard dispatcher.blockedBy.contains(barrier.id), !Self.ordinary.contains(barrier.word) else { return nil }
            let cause = words.cause(of: barrier, holding: [dispatcher.id]).map { ": \($0)" } ?? ""
            let since = barrier.since.map { " since \(clock.text($0))" } ?? ""
            return Problem(
                title: "\(barrier.id) blocks \(dispatcher.id)\(since)\(cause)",
                advice: Formatting.sentence(words.opening(of: barrier, holding: [dispatcher.id])),
                dispatcher: dispatcher.id)
        }
    }

    private func failures(_ dispatcher: ListedDispatcher) -> [Problem] {
        guard let error = dispatcher.lastErrorText(clock) else { return [] }
        return [
            Problem(
                title: "\(dispatcher.id): \(error)",
                advice: "The dispatcher retries by itself. Check the destination and the dispatcher's settings.",
                dispatcher: dispatcher.id, isBad: true)
        ]
    }

    private func losses(_ dispatcher: ListedDispatcher) -> [Problem] {
        let counts = ["dead": dispatcher.dead, "expired": dispatcher.expired, "evicted": dispatcher.evicted]
        return CounterAdvice.ofEvents.compactMap { trouble in
            guard let count = counts[trouble.counter], count > 0 else { return nil }
            let events = "\(Quantity.counted(count, trouble.noun)) of \(dispatcher.id)"
            return Problem(
                title: "\(events) \(trouble.words)", advice: trouble.advice, dispatcher: dispatcher.id, isBad: true)
        }
    }

    private var counters: [Problem] {
        CounterAdvice.ofService.compactMap { trouble in
            let count = state.counter(trouble.counter)
            guard count > 0 else { return nil }
            let title = "\(Quantity.counted(count, trouble.noun)) \(trouble.words) since the daemon started"
            return Problem(title: title, advice: trouble.advice)
        }
    }

    /// The reason words of barriers that close regularly, and of BackoffBarrier, whose failure is a problem of its own.
    private static let ordinary = ["batching", "rate", "interval", "schedule", "backoff"]
}
