import HeadgateClient
import HeadgateData
import HeadgateText

/// The first page: the present state of all dispatchers, and plots of the last 15 minutes.
struct OverviewPage {
    let state: DaemonState
    let history: History
    /// The time of the history's clock, in seconds.
    let time: Double
    var clock = WallClock.local

    /// The regions that change.
    var regions: [Region] {
        [Region(id: "event-flow", html: flow), Region(id: "plots", html: plots)]
    }

    /// The body of the page.
    var html: HTML {
        """
        <div class="overview"><section aria-labelledby="event-flow-title"><h2 id="event-flow-title">Flow of events</h2>
        <div id="event-flow">\(flow)</div></section>
        <section aria-labelledby="plots-title"><h2 id="plots-title">The last 15 minutes</h2>
        <div id="plots">\(plots)</div></section></div>

        """
    }

    // MARK: Dispatchers

    private var flow: HTML {
        let lanes = state.dispatchers.map(lane)
        let none: HTML = "<li class=\"nothing\">No dispatchers are configured, so no event is sent.</li>"
        return """
            <div class="event-flow"><div class="stage"><h3><a href="/clients">Clients</a></h3><dl>\(clients)</dl></div>
            <div class="stage"><h3>Store</h3><dl>\(store)</dl></div>
            <ol class="lanes" aria-label="Dispatchers">\(lanes.isEmpty ? [none] : lanes)</ol></div>

            """
    }

    private var clients: [HTML] {
        [
            Formatting.figure("connected", Formatting.count(state.status?.get(key: "clients") ?? 0)),
            Formatting.figure("received", Formatting.rate(history.latest?.received ?? 0), "per second"),
            Formatting.figure("total received", Formatting.count(state.counter("received"))),
        ]
    }

    private var store: [HTML] {
        let store = state.store
        let oldest = store.get(key: "oldest_ms", as: Int.self).map { Duration.milliseconds($0) }
        return [
            Formatting.figure("events", Formatting.count(store.get(key: "events") ?? 0)),
            Formatting.figure("oldest", "\(Formatting.age(oldest))"),
            Formatting.figure("on disk", "\(Quantity.bytes(store.get(key: "disk_bytes") ?? 0))"),
        ]
    }

    private func lane(_ dispatcher: ListedDispatcher) -> HTML {
        let rate = history.latest?.sent[dispatcher.id] ?? 0
        let channel = DispatcherDiagram(dispatcher: dispatcher, gates: state.gates(before: dispatcher.id), rate: rate)
        let flushing = dispatcher.isFlushing ? " " + Formatting.badge("flushing", .waiting) : "" as HTML
        let dead: HTML =
            dispatcher.dead > 0
            ? Formatting.figure("dead-lettered", "<b class=\"bad\">\(Formatting.count(dispatcher.dead))</b>") : ""
        return """
            <li class="lane"><h3><a href="\(Route.Page.dispatcher(dispatcher.id).target)">\(dispatcher.id)</a> \
            <span class="note">\(dispatcher.kind)</span> \(Formatting.state(dispatcher))\(flushing)</h3>
            \(channel.html)
            <dl>\(Formatting.figure("pending", Formatting.count(dispatcher.pending)))\
            \(Formatting.figure("oldest", "\(Formatting.age(dispatcher.oldest))"))\
            \(Formatting.figure("in flight", Formatting.count(dispatcher.inFlight)))\
            \(Formatting.figure("delivered", Formatting.rate(rate), "per second"))\
            \(Formatting.figure("total delivered", Formatting.count(dispatcher.sent)))\(dead)</dl>\(error(dispatcher))</li>

            """
    }

    private func error(_ dispatcher: ListedDispatcher) -> HTML {
        guard let error = dispatcher.lastErrorText(clock) else { return "" }
        return "<p class=\"error\">\(Formatting.badge("failing", .bad)) \(error)</p>"
    }

    // MARK: Plots

    private var plots: HTML {
        let steps = history.steps(at: time)
        let rates = Plot(
            title: "Events per second",
            lines: [
                line("received", steps.map { $0?.received }, Quantity.rate),
                line("delivered", steps.map { $0?.delivered }, Quantity.rate),
            ], words: Quantity.rate)
        let backlog = Plot(
            title: "Backlog",
            lines: [line("in the store", steps.map { $0?.backlog }, Self.whole)], words: Self.whole)
        return """
            <div class="plots">\(rates.html)\(backlog.html)\
            \(times("Time to acknowledge", "stored", steps.map { $0?.acknowledged }))\
            \(times("Time from receipt to delivery", "delivered", steps.map { $0?.reached }))</div>

            """
    }

    private static func whole(_ number: Double) -> String {
        number < 1 ? Quantity.rate(number) : Quantity.grouped(Int(number))
    }

    /// - Parameter verb: the verb of the events that the plot measures, for the text of an empty plot.
    private func times(_ title: String, _ verb: String, _ values: [History.Quantiles?]) -> HTML {
        Plot(
            title: title,
            lines: [
                line("p50", values.map { $0?.half }, Formatting.seconds),
                line("p99", values.map { $0?.most }, Formatting.seconds),
            ], words: Formatting.seconds,
            nothing: "No data yet: no events were \(verb) while a page of the console was open."
        ).html
    }

    private func line(_ name: String, _ values: [Double?], _ words: (Double) -> String) -> Plot.Line {
        Plot.Line(name: name, now: (values.last ?? nil).map(words) ?? "–", values: values)
    }
}
