import HeadgateClient
import HeadgateData
import HeadgateText

/// The page of one dispatcher: its barriers, counters, pending events, dead letters and settings.
struct DispatcherPage {
    let state: DaemonState
    let history: History
    let clock: WallClock
    let dispatcher: ListedDispatcher

    /// The regions that change.
    var regions: [Region] {
        [Region(id: "held", html: held), Region(id: "figures", html: figures), Region(id: "attempts", html: attempts)]
    }

    /// The content that is read when the page is opened.
    struct Contents {
        var waiting: PeekedEvents?
        var deadLetters: DeadLetterPage?
        var settings: DataObject?
    }

    /// Returns the body of the page, with the forms for changes if they are allowed.
    func html(_ contents: Contents, controls: HTML) -> HTML {
        """
        <section aria-labelledby="held-title"><h2 id="held-title">State</h2><div id="held">\(held)</div></section>
        <section aria-labelledby="figures-title"><h2 id="figures-title">Metrics</h2>
        <div id="figures">\(figures)</div></section>
        <section aria-labelledby="attempts-title"><h2 id="attempts-title">Attempts</h2>
        <div id="attempts">\(attempts)</div></section>
        \(controls)
        <section aria-labelledby="waiting-title"><h2 id="waiting-title">Pending events</h2>\(waiting(contents))</section>
        <section aria-labelledby="letters-title"><h2 id="letters-title">Dead letters</h2>\(deadLetters(contents))</section>
        <section aria-labelledby="settings-title"><h2 id="settings-title">Settings</h2>\(settings(contents))</section>

        """
    }

    private var rate: Double { history.latest?.sent[dispatcher.id] ?? 0 }

    private var held: HTML {
        let channel = DispatcherDiagram(dispatcher: dispatcher, gates: state.gates(before: dispatcher.id), rate: rate)
        let flushing = dispatcher.isFlushing ? " " + Formatting.badge("flushing", .waiting) : "" as HTML
        return """
            <p class="sentence">This dispatcher, of kind <code>\(dispatcher.kind)</code>, is \
            \(Formatting.state(dispatcher))\(flushing)</p>
            \(channel.html)\(BlockingBarriersList(state: state, clock: clock).holders(of: dispatcher))
            """
    }

    private var figures: HTML {
        let cells = [
            Formatting.figure("pending", Formatting.count(dispatcher.pending)),
            Formatting.figure("oldest", "\(Formatting.age(dispatcher.oldest))"),
            Formatting.figure("in flight", Formatting.count(dispatcher.inFlight), Self.batches(state, dispatcher.id)),
            Formatting.figure("delivered", Formatting.count(dispatcher.sent), "\(Formatting.rate(rate)) per second"),
            Formatting.figure("failed attempts", Formatting.count(dispatcher.failed)),
            Formatting.figure("dead-lettered", Formatting.count(dispatcher.dead)),
            Formatting.figure("expired", Formatting.count(dispatcher.expired)),
            Formatting.figure("evicted", Formatting.count(dispatcher.evicted)),
            Formatting.figure("next attempt", Formatting.moment(dispatcher.retryAt, clock)),
        ]
        return "<dl class=\"figures\">\(cells)</dl>"
    }

    /// Returns a note about the sizes of batches, if the daemon reports them.
    private static func batches(_ state: DaemonState, _ id: String) -> HTML {
        guard let sizes = state.metrics?.histogram("headgate_batch_events", ("dispatcher", id)),
            let half = sizes.quantile(0.5)
        else { return "" }
        return "batch size p50: \(Formatting.count(max(1, Int(half.rounded(.up)))))"
    }

    private var attempts: HTML {
        let error: HTML =
            dispatcher.lastErrorText(clock).map { "<p class=\"error\">\(Formatting.badge("failing", .bad)) \($0)</p>" }
            ?? "<p>The last attempt succeeded, or there was none yet.</p>"
        var table = PageTable(
            "Attempts of \(dispatcher.id) by outcome",
            [
                .init(name: "Outcome"), .init(name: "Attempts", isNumeric: true),
                .init(name: "Time p50", isNumeric: true), .init(name: "Time p99", isNumeric: true),
            ])
        for sample in state.metrics?.samples("headgate_attempt_seconds") ?? [] {
            guard sample.labels["dispatcher"] == dispatcher.id, let times = sample.histogram, times.count > 0 else {
                continue
            }
            table.add([
                "\(sample.labels["outcome"] ?? "")", Formatting.count(Int(times.count)),
                "\(times.quantile(0.5).map(Formatting.seconds) ?? "–")",
                "\(times.quantile(0.99).map(Formatting.seconds) ?? "–")",
            ])
        }
        return error + table.html(orElse: "No attempts since the daemon started.")
    }

    // MARK: Content that is read once

    private func waiting(_ contents: Contents) -> HTML {
        guard let waiting = contents.waiting else { return Self.unknown }
        return EventTables.waiting(waiting, for: dispatcher.id, clock)
    }

    private func deadLetters(_ contents: Contents) -> HTML {
        guard let deadLetters = contents.deadLetters else { return Self.unknown }
        return EventTables.deadLetters(deadLetters, of: dispatcher.id, clock)
    }

    private func settings(_ contents: Contents) -> HTML {
        let all = contents.settings?.get(key: "dispatchers", as: DataObject.self)
        guard let own = all?.get(key: dispatcher.id, as: DataObject.self) else { return Self.unknown }
        let lines = SettingsText.lines(own).map { path, value -> HTML in
            "<div><dt>\(path)</dt><dd>\(value)</dd></div>\n"
        }
        return "<dl class=\"settings\">\(lines)</dl>"
    }

    private static let unknown: HTML = "<p class=\"nothing\">Not available: the daemon did not answer.</p>"
}
