import HeadgateData
import HeadgateText

/// The page that traces one event by its ID (Behaviour O2).
struct EventPage {
    let state: DaemonState
    let clock: WallClock

    /// The result of a trace.
    enum Finding {
        /// No ID was given.
        case none
        case events([DataObject])
        /// The trace failed, for this reason.
        case failed(String)
    }

    /// Returns the body of the page.
    func html(_ id: String?, _ finding: Finding) -> HTML {
        """
        <form class="search" method="get" action="/event"><label for="id">Event id</label>
        <input id="id" name="id" value="\(id ?? "")" required autocomplete="off" spellcheck="false">
        <button>Trace</button></form>
        \(self.finding(finding))
        """
    }

    private func finding(_ finding: Finding) -> HTML {
        switch finding {
        case .none:
            return """
                <p>Shows whether the event is pending, in flight, delivered or dead-lettered, and which barriers block it.</p>
                """
        case .failed(let words): return "<p class=\"error\">\(words)</p>"
        case .events(let events):
            let parts = events.map(trace)
            return "\(parts)"
        }
    }

    private func trace(_ event: DataObject) -> HTML {
        var table = PageTable(
            "State by dispatcher",
            [
                .init(name: "Dispatcher"), .init(name: "State"), .init(name: "At"),
                .init(name: "Attempts", isNumeric: true), .init(name: "Events ahead", isNumeric: true),
                .init(name: "Blocked by"), .init(name: "Last error"),
            ])
        for (dispatcher, value) in event.get(key: "dispatchers", as: DataObject.self) ?? [:] {
            guard let trace: DataObject = value.get() else { continue }
            table.add(row(dispatcher, trace))
        }
        let received = event.get(key: "received_at", as: String.self).flatMap(Timestamp.init(rfc3339:))
        let number = event.get(key: "seq", as: Int.self).map(Formatting.count) ?? "–"
        return """
            <section><h2>\(event.get(key: "event") ?? "")</h2>
            <dl class="figures">\(Formatting.figure("received", Formatting.moment(received, clock)))\
            \(Formatting.figure("sequence number", number))\
            \(Formatting.figure("namespace", "\(event.get(key: "namespace") ?? "–")"))</dl>
            \(table.html(orElse: "No dispatcher accepted this event."))\(holders(event))</section>

            """
    }

    /// Returns the barriers that block the event, and what would open them, for each dispatcher that it is pending for.
    private func holders(_ event: DataObject) -> HTML {
        let traces = event.get(key: "dispatchers", as: DataObject.self) ?? [:]
        let parts = traces.compactMap { id, value -> HTML? in
            let held: [String] = value.get(as: DataObject.self)?.get(key: "blocked_by") ?? []
            guard !held.isEmpty, let dispatcher = state.dispatcher(id) else { return nil }
            return
                "<h3>\(id) is blocked</h3>\(BlockingBarriersList(state: state, clock: clock).holders(of: dispatcher))"
        }
        return "\(parts)"
    }

    private func row(_ dispatcher: String, _ trace: DataObject) -> [HTML] {
        let state: String = trace.get(key: "state") ?? "unknown"
        let held: [String] = trace.get(key: "blocked_by") ?? []
        let at = trace.get(key: "at", as: String.self).flatMap(Timestamp.init(rfc3339:))
        return [
            "<a href=\"\(Route.Page.dispatcher(dispatcher).target)\">\(dispatcher)</a>",
            outcome(state, dispatcher, trace), Formatting.moment(at, clock),
            trace.get(key: "attempts", as: Int.self).map(Formatting.count) ?? "–",
            trace.get(key: "ahead", as: Int.self).map(Formatting.count) ?? "–",
            held.isEmpty ? "–" : "\(held.joined(separator: ", "))", "\(trace.get(key: "last_error") ?? "–")",
        ]
    }

    /// Returns the event's state, with a link to its dead letter if there is one.
    private func outcome(_ state: String, _ dispatcher: String, _ trace: DataObject) -> HTML {
        let word = Formatting.badge(state.replacing("_", with: " "), Self.tone(state))
        guard let deadLetter = trace.get(key: "letter", as: Int.self) else { return word }
        let page = Route.Page.deadLetters(dispatcher, after: deadLetter - 1)
        return "\(word) <a href=\"\(page.target)\">dead letter \(Formatting.count(deadLetter))</a>"
    }

    private static func tone(_ state: String) -> Formatting.Tone {
        switch state {
        case "delivered": .good
        case "pending", "in_flight": .waiting
        case "transformed_away", "purged": .held
        default: .bad
        }
    }
}
