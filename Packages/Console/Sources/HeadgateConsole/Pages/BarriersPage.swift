import HeadgateClient
import HeadgateData
import HeadgateText

/// The page of all barriers and dispatchers, with the reason and the time of each barrier's state.
struct BarriersPage {
    let state: DaemonState
    let clock: WallClock

    /// The regions that change.
    var regions: [Region] {
        [Region(id: "barriers", html: table), Region(id: "notes", html: notes)]
    }

    /// The body of the page.
    var html: HTML {
        """
        <section aria-labelledby="table-title"><h2 id="table-title">Barriers by dispatcher</h2>
        <div id="barriers" class="wide">\(table)</div></section>
        <section aria-labelledby="notes-title"><h2 id="notes-title">Details</h2>
        <div id="notes">\(notes)</div></section>

        """
    }

    /// All barriers, those that block a dispatcher first.
    private var barriers: [ListedBarrier] {
        state.barriers.filter { !$0.held.isEmpty } + state.barriers.filter(\.held.isEmpty)
    }

    private var table: HTML {
        var table = PageTable(
            "Barriers and dispatchers",
            [.init(name: "Barrier")] + state.dispatchers.map { .init(name: $0.id) } + [.init(name: "Flush passes")])
        for barrier in barriers {
            let states = state.dispatchers.map { dispatcher in
                barrier.states.first { $0.dispatcher == dispatcher.id }.map { Formatting.state($0.state) } ?? "–"
                    as HTML
            }
            table.add(
                ["\(barrier.id)"] + states + [barrier.isFlushable ? "yes" : "no"])
        }
        return table.html(orElse: "No barriers.")
    }

    private var notes: HTML {
        var table = PageTable(
            "State of each barrier",
            [
                .init(name: "Barrier"), .init(name: "Kind"), .init(name: "Since"), .init(name: "Set by"),
                .init(name: "Reason"), .init(name: "Opens when"), .init(name: "Settings"),
            ])
        let text = BarrierText(dispatchers: state.dispatchers, clock: clock)
        for barrier in barriers {
            let holds = !barrier.held.isEmpty
            let cause = holds ? text.cause(of: barrier, holding: barrier.held) : barrier.reason
            let settings = SettingsText.lines(barrier.configuration).map { "\($0.path) \($0.value)" }
            table.add([
                "\(barrier.id)", "\(barrier.kind)", Formatting.moment(barrier.since, clock), "\(setter(barrier))",
                "\(cause ?? "–")", holds ? Formatting.prose(text.opening(of: barrier, holding: barrier.held)) : "–",
                settings.isEmpty ? "–" : "\(settings.joined(separator: ", "))",
            ])
        }
        return table.html(orElse: "No barriers.")
    }

    private func setter(_ barrier: ListedBarrier) -> String {
        if let owner = barrier.owner { return owner }
        return barrier.word != "manual" ? "automatic" : barrier.held.isEmpty ? "–" : "an operator"
    }
}
