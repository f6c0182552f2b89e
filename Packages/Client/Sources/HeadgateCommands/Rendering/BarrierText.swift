import HeadgateClient
import HeadgateData

/// Says of barriers in words what holds whom, since when, and what would open it (Behaviour B10).
struct BarrierText {
    let dispatchers: [DispatcherSummary]
    let clock: WallClock
    let style: Style

    /// All barriers, each with its state and a sentence.
    func list(_ barriers: [BarrierSummary]) -> String {
        guard !barriers.isEmpty else { return "There are no barriers.\n" }
        var table = Table([.init("BARRIER"), .init("STATE"), .init("")])
        for barrier in barriers {
            let state = self.state(of: barrier)
            table.add([.init(barrier.id, .strong), .init(state.word, state.tone), .init(sentence(barrier))])
        }
        return table.text(style)
    }

    /// Why a dispatcher's way is closed: one line for each barrier that holds it.
    func holders(of dispatcher: DispatcherSummary, among barriers: [BarrierSummary]) -> [String] {
        dispatcher.blockedBy.map { id in
            guard let barrier = barriers.first(where: { $0.id == id }) else { return "held by \(id)" }
            return "held by \(id)\(since(barrier))\(reason(barrier)); \(opening(barrier)); \(flush(barrier))"
        }
    }

    private func state(of barrier: BarrierSummary) -> (word: String, tone: Style.Tone) {
        if barrier.scopes.isEmpty { return ("off", .faint) }
        let states = barrier.states.map(\.state)
        if states.contains(.closed) { return ("closed", .attention) }
        return states.contains(.waiting) ? ("waiting", .attention) : ("open", .good)
    }

    private func sentence(_ barrier: BarrierSummary) -> String {
        if barrier.scopes.isEmpty { return "stands before nothing" }
        guard !barrier.states.isEmpty else { return "stands before \(named(barrier.scopes)), which is not there" }
        guard !barrier.held.isEmpty else { return "lets \(named(barrier.states.map(\.dispatcher))) through" }
        return "holds \(named(barrier.held))\(since(barrier))\(reason(barrier)); \(opening(barrier)); \(flush(barrier))"
    }

    private func named(_ ids: [String]) -> String {
        ids.joined(separator: ", ")
    }

    private func since(_ barrier: BarrierSummary) -> String {
        guard let since = barrier.since else { return "" }
        return " since \(clock.text(since)) (\(Quantity.time(clock.age(since))))"
    }

    private func reason(_ barrier: BarrierSummary) -> String {
        barrier.reason.map { ": \($0)" } ?? ""
    }

    private func flush(_ barrier: BarrierSummary) -> String {
        barrier.isFlushable ? "a flush passes it" : "a flush does not pass it"
    }
}
