import HeadgateClient
import HeadgateData

/// Says of barriers in words what holds whom, since when, why, and what would open it (Behaviour B10).
struct BarrierText {
    let dispatchers: [ListedDispatcher]
    let clock: WallClock
    let style: Style

    /// All barriers: those that hold somebody with a sentence each, the others shortly below.
    func list(_ barriers: [ListedBarrier]) -> String {
        guard !barriers.isEmpty else { return "There are no barriers.\n" }
        return [holdings(barriers), others(barriers)].filter { !$0.isEmpty }.joined(separator: "\n")
    }

    /// Why a dispatcher's way is closed: one line for each barrier that holds it.
    func holders(of dispatcher: ListedDispatcher, among barriers: [ListedBarrier]) -> [String] {
        dispatcher.blockedBy.map { id in
            guard let barrier = barriers.first(where: { $0.id == id }) else { return "held by \(id)" }
            return "held by \(id)\(circumstances(of: barrier, holding: [dispatcher.id]))"
        }
    }

    /// `holds collect since 11:58:00 (2 min): paused: maintenance; …`, without the barrier's name.
    func sentence(_ barrier: ListedBarrier) -> String {
        "holds \(named(barrier.held))\(circumstances(of: barrier, holding: barrier.held))"
    }

    private func holdings(_ barriers: [ListedBarrier]) -> String {
        let holding = barriers.filter { !$0.held.isEmpty }
        guard !holding.isEmpty else { return "Nothing is held: all ways are open.\n" }
        var table = Table([.init("BARRIER"), .init("STATE"), .init("")])
        for barrier in holding {
            let isWaiting = !barrier.states.contains { $0.state == .closed }
            table.add([
                .init(barrier.id, .strong), .init(isWaiting ? "waiting" : "closed", .attention),
                .init(sentence(barrier)),
            ])
        }
        return table.text(style)
    }

    private func others(_ barriers: [ListedBarrier]) -> String {
        let idle = barriers.filter(\.held.isEmpty)
        let absent = idle.filter { $0.states.isEmpty && !$0.scopes.isEmpty }
        return line("open", .good, idle.filter { !$0.states.isEmpty }.map(\.id))
            + line("before nobody", .faint, absent.map { "\($0.id) (\(named($0.scopes)))" })
            + line("switched off", .faint, idle.filter(\.scopes.isEmpty).map(\.id))
    }

    private func line(_ heading: String, _ tone: Style.Tone, _ words: [String]) -> String {
        words.isEmpty ? "" : "\(style.apply(tone, to: heading)): \(PlainText.line(named(words)))\n"
    }

    private func circumstances(of barrier: ListedBarrier, holding ids: [String]) -> String {
        let why = cause(of: barrier, holding: ids).map { ": \($0)" } ?? ""
        let flush = barrier.isFlushable ? "a flush passes it" : "a flush does not pass it"
        return "\(since(barrier))\(why); \(opening(of: barrier, holding: ids)); \(flush)"
    }

    private func since(_ barrier: ListedBarrier) -> String {
        guard let since = barrier.since else { return "" }
        return " since \(clock.text(since)) (\(Quantity.time(clock.age(since))))"
    }

    private func named(_ ids: [String]) -> String {
        ids.joined(separator: ", ")
    }
}
