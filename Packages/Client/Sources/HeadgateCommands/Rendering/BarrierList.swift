import HeadgateClient
import HeadgateData
import HeadgateText

/// Lists barriers for the terminal.
struct BarrierList {
    let text: BarrierText
    let style: Style

    /// Returns all barriers: a sentence for each one that blocks a dispatcher, and the others in short lists.
    func list(_ barriers: [ListedBarrier]) -> String {
        guard !barriers.isEmpty else { return "There are no barriers.\n" }
        return [holdings(barriers), others(barriers)].filter { !$0.isEmpty }.joined(separator: "\n")
    }

    private func holdings(_ barriers: [ListedBarrier]) -> String {
        let holding = barriers.filter { !$0.held.isEmpty }
        guard !holding.isEmpty else { return "No dispatcher is blocked.\n" }
        var table = Table([.init("BARRIER"), .init("STATE"), .init("BLOCKS")])
        for barrier in holding {
            let isWaiting = !barrier.states.contains { $0.state == .closed }
            table.add([
                .init(barrier.id, .strong), .init(isWaiting ? "waiting" : "closed", .attention),
                .init(text.effect(barrier)),
            ])
        }
        return table.text(style)
    }

    private func others(_ barriers: [ListedBarrier]) -> String {
        let idle = barriers.filter(\.held.isEmpty)
        let absent = idle.filter { $0.states.isEmpty && !$0.scopes.isEmpty }
        return line("open", .good, idle.filter { !$0.states.isEmpty }.map(\.id))
            + line("without a dispatcher", .faint, absent.map { "\($0.id) (\(named($0.scopes)))" })
            + line("disabled", .faint, idle.filter(\.scopes.isEmpty).map(\.id))
    }

    private func line(_ heading: String, _ tone: Style.Tone, _ words: [String]) -> String {
        words.isEmpty ? "" : "\(style.apply(tone, to: heading)): \(PlainText.line(named(words)))\n"
    }

    private func named(_ ids: [String]) -> String {
        ids.joined(separator: ", ")
    }
}
