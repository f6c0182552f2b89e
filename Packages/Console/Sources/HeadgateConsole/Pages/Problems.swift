import HeadgateClient
import HeadgateCommands
import HeadgateData

/// All that an operator should know now, each with what to do.
struct Problems {
    let state: DaemonState
    let clock: WallClock

    /// One thing to know.
    struct Problem: Equatable {
        let title: String
        let advice: String
        /// The dispatcher that it is about; nil for the whole daemon.
        var dispatcher: String?
        /// Whether something was lost, or does not work.
        var isBad = false
    }

    /// Those there are, the gravest first.
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
                "Is headgated running? `systemctl status headgate` and its log tell. This page comes back by itself."
            return [
                Problem(title: "The daemon is away since \(clock.text(since)): \(cause)", advice: advice, isBad: true)
            ]
        case .refusing(let cause):
            let advice = "Grant `observe` to this console's user in `access` of the daemon's settings."
            return [Problem(title: "The daemon refuses to be looked at: \(cause)", advice: advice, isBad: true)]
        case .serving where !state.isReady:
            return [
                Problem(title: "The daemon is not ready", advice: "It may be starting: its log tells.", isBad: true)
            ]
        case .serving, .unknown: return []
        }
    }

    /// What `status` warns of.
    private var warnings: [Problem] {
        (state.status?.get(key: "warnings", as: [String].self) ?? []).map {
            Problem(title: $0, advice: "Mend the settings, then `headgate config reload`.")
        }
    }

    private var network: [Problem] {
        let network = state.status?.get(key: "network", as: DataObject.self) ?? [:]
        guard network.get(key: "state") == "disconnected" else { return [] }
        return [
            Problem(
                title: "This machine has no network connection",
                advice: "Events wait on disk, and go on by themselves when there is one.")
        ]
    }

    /// Barriers that hold events for a reason that somebody may want to look into: not those that open and close as they
    /// are meant to.
    private func holds(_ dispatcher: ListedDispatcher) -> [Problem] {
        let words = BarrierText(dispatchers: state.dispatchers, clock: clock)
        return state.gates(before: dispatcher.id).compactMap { gate in
            let barrier = gate.barrier
            guard dispatcher.blockedBy.contains(barrier.id), !Self.usual.contains(barrier.word) else { return nil }
            let cause = words.cause(of: barrier, holding: [dispatcher.id]).map { ": \($0)" } ?? ""
            let since = barrier.since.map { " since \(clock.text($0))" } ?? ""
            return Problem(
                title: "\(barrier.id) holds \(dispatcher.id)\(since)\(cause)",
                advice: Words.sentence(words.opening(of: barrier, holding: [dispatcher.id])), dispatcher: dispatcher.id)
        }
    }

    private func failures(_ dispatcher: ListedDispatcher) -> [Problem] {
        guard let error = dispatcher.lastError else { return [] }
        return [
            Problem(
                title: "\(dispatcher.id) failed last: \(error)",
                advice: "It tries again by itself. Look at the destination, and at the dispatcher's settings.",
                dispatcher: dispatcher.id, isBad: true)
        ]
    }

    private func losses(_ dispatcher: ListedDispatcher) -> [Problem] {
        let losses = [
            (dispatcher.dead, "given up", "Look at its dead letters, mend the cause, and requeue or purge them."),
            (
                dispatcher.expired, "lost: too old, by `max_age_s` or their `ttl_ms`",
                "Raise `store.max_age_s`, or find out what held them so long."
            ),
            (
                dispatcher.evicted, "lost: to make room, or purged",
                "Raise `store.max_events` or `store.max_bytes`, or let it reject instead."
            ),
        ]
        return losses.filter { $0.0 > 0 }.map { count, what, advice in
            Problem(
                title: "\(Quantity.counted(count, "event")) of \(dispatcher.id) \(count == 1 ? "was" : "were") \(what)",
                advice: advice, dispatcher: dispatcher.id, isBad: true)
        }
    }

    private var counters: [Problem] {
        Self.advice.compactMap { name, what, advice in
            let count = state.counter(name)
            guard count > 0 else { return nil }
            return Problem(title: "\(Quantity.grouped(count)) \(what) since the daemon started", advice: advice)
        }
    }

    /// The words of barriers whose holding is what they are there for, and of the one that goes with a failure.
    private static let usual = ["batching", "rate", "interval", "schedule", "backoff"]

    private static let advice: [(String, String, String)] = [
        (
            "quarantined", "damaged records were set aside",
            "Check the disk; the pieces are kept below the data directory."
        ),
        (
            "rejected", "events were refused",
            "The clients were told why: mostly a full store, or an event that is too large."
        ),
        (
            "rejected_connections", "connections were refused",
            "Raise `limits.max_connections`, or find the client that opens so many."
        ),
        (
            "slow_readers_closed", "clients did not read their answers and were closed",
            "Look at what those clients do instead of reading."
        ),
        (
            "limited", "messages were refused because of a limit",
            "The clients were told which; `limits` in the settings has them."
        ),
        ("line_too_long", "lines were too long", "Raise `limits.max_line_bytes`, or send less in one message."),
        (
            "failed_notifications", "messages without an id failed",
            "Have the client send requests, so that it is told why."
        ),
        ("collector_errors", "times a collector failed", "The log tells which, and why."),
        ("barrier_errors", "times a barrier failed", "The log tells which, and why."),
        (
            "transformation_errors", "times a transformation failed",
            "Those events went on unchanged; the log tells why."
        ),
    ]
}
