import HeadgateClient
import HeadgateData
import HeadgateText

/// Describes the outcome of an event, so that a person can act on it (Behaviour O2).
struct TraceText {
    let barriers: [ListedBarrier]
    let dispatchers: [ListedDispatcher]
    let clock: WallClock
    let style: Style

    /// Returns all events of an ID, oldest first.
    func text(_ events: [ListedTrace]) -> String {
        events.map(text).joined(separator: "\n")
    }

    private func text(_ event: ListedTrace) -> String {
        let lines = event.dispatchers.map { trace in
            "\(style.apply(.strong, to: PlainText.line(trace.dispatcher))): \(PlainText.line(sentence(trace)))\n"
        }
        let rest = lines.isEmpty ? "Its dispatchers are not known.\n" : lines.joined()
        return "\(PlainText.line(heading(event)))\n" + rest
    }

    private func heading(_ event: ListedTrace) -> String {
        let details = [event.event, event.namespace.map { "namespace \($0)" }].compactMap(\.self)
        let what = details.isEmpty ? "" : " (\(details.joined(separator: ", ")))"
        let when = event.receivedAt.map { " \(ago($0))" } ?? ""
        return "\(event.id)\(what) was received\(when), sequence number \(event.sequenceNumber)."
    }

    private func ago(_ moment: Timestamp) -> String { "\(Quantity.time(clock.age(moment))) ago" }

    /// Returns `waits behind 3 others, held by night since …`, without the dispatcher's name.
    func sentence(_ trace: ListedTrace.DispatcherTrace) -> String {
        let when = trace.at.map { " \(ago($0))" } ?? ""
        switch trace.state {
        case "pending": return waiting(trace)
        case "in_flight": return "in flight: sent\(when)\(attempts(trace)).\(failed(trace))"
        case "delivered": return "delivered\(when)\(attempts(trace)).\(failed(trace))"
        case "dead": return "dead-lettered\(when)\(attempts(trace)).\(failed(trace)) \(deadLetter(trace))"
        case "expired": return "expired\(when)\(attempts(trace)).\(failed(trace))"
        case "evicted": return "evicted\(when) to make room for newer events\(attempts(trace)).\(failed(trace))"
        case "erased": return "erased\(when) by an operator\(attempts(trace)).\(failed(trace))"
        case "purged": return "purged\(when) by an operator\(attempts(trace)).\(failed(trace))"
        case "transformed_away": return "dropped\(when) by a transformation."
        default: return "\(trace.state)\(when)."
        }
    }

    private func waiting(_ trace: ListedTrace.DispatcherTrace) -> String {
        guard let dispatcher = dispatchers.first(where: { $0.id == trace.dispatcher }) else {
            return "pending\(behind(trace)): this dispatcher is not configured."
        }
        let holders = BarrierText(dispatchers: dispatchers, clock: clock)
            .holders(of: trace.blockedBy, before: dispatcher.id, among: barriers)
        let rest = holders.isEmpty ? ", not blocked" : ", " + holders.joined(separator: ", and ")
        return "pending\(behind(trace))\(rest)\(attempts(trace)).\(failed(trace))"
    }

    private func behind(_ trace: ListedTrace.DispatcherTrace) -> String {
        switch trace.ahead {
        case nil: ""
        case 0?: " as the next event"
        case 1?: " behind 1 other"
        case let ahead?: " behind \(Quantity.grouped(ahead)) others"
        }
    }

    /// Returns the number of attempts, or an empty text if the first attempt succeeded.
    private func attempts(_ trace: ListedTrace.DispatcherTrace) -> String {
        let isPlain = trace.state == "delivered" || trace.state == "in_flight"
        guard let attempts = trace.attempts, attempts > (isPlain ? 1 : 0) else { return "" }
        if trace.state == "in_flight" { return ", attempt \(attempts)" }
        return trace.state == "pending"
            ? "; sent \(Quantity.counted(attempts, "time")) before" : " after \(Quantity.counted(attempts, "attempt"))"
    }

    private func failed(_ trace: ListedTrace.DispatcherTrace) -> String {
        trace.lastError.map { " Last error: \($0)." } ?? ""
    }

    private func deadLetter(_ trace: ListedTrace.DispatcherTrace) -> String {
        guard let deadLetter = trace.deadLetter else {
            return "Its dead letter no longer exists: it was requeued, purged or expired."
        }
        return "It is dead letter \(deadLetter): `headgate dead-letters requeue \(deadLetter)` requeues it."
    }
}
