import HeadgateClient

/// A picture of one dispatcher as a channel with gates. The water comes from the left and stops at the first closed
/// gate.
struct DispatcherDiagram {
    let dispatcher: ListedDispatcher
    let gates: [DaemonState.Gate]
    /// Events delivered per second.
    let rate: Double

    /// The most gates in the picture. If there are more, closed ones come first.
    private static let mostShown = 6

    /// The picture, with a text for screen readers.
    var html: HTML {
        let shown = self.shown
        let drawn = shown.enumerated().map { index, gate in
            draw(gate, at: position(index, of: shown.count), isLow: shown.count > 3 && index % 2 == 1)
        }
        let flow: HTML = rate > 0 ? "<line class=\"flow\" x1=\"0\" x2=\"\(reach)\" y1=\"36\" y2=\"36\"/>" : ""
        return """
            <svg class="channel" height="84" role="img" aria-label="\(words)">
            <rect class="bed" x="0" y="26" width="100%" height="20"/>
            <rect class="water" x="0" y="26" width="\(reach)" height="20"/>\(flow)
            \(drawn)</svg>
            """
    }

    /// A description for screen readers, like `collect is blocked. Barriers: batching closed, manual open.`
    private var words: String {
        let states = shown.map { "\($0.barrier.word) \($0.state.rawValue)" }
        let more = gates.count - shown.count
        let rest = more > 0 ? ", and \(more) other open barriers" : ""
        return "\(dispatcher.id) is \(dispatcher.isOpen ? "open" : "blocked"). "
            + (states.isEmpty ? "No barriers." : "Barriers: \(states.joined(separator: ", "))\(rest).")
    }

    private var shown: [DaemonState.Gate] {
        guard gates.count > Self.mostShown else { return gates }
        let chosen = (gates.filter { $0.state != .open } + gates.filter { $0.state == .open }).prefix(Self.mostShown)
        return gates.filter { gate in chosen.contains { $0.barrier.id == gate.barrier.id } }
    }

    /// The position of the right end of the water, in percent of the width.
    private var reach: String {
        guard let index = shown.firstIndex(where: { $0.state != .open }) else { return "100%" }
        return position(index, of: shown.count)
    }

    private func position(_ index: Int, of count: Int) -> String {
        let share = (Double(index) + 0.5) / Double(count) * 1_000
        return "\(Int(share) / 10).\(Int(share) % 10)%"
    }

    /// Returns the barrier's reason word, shortened. If the word is an ID, the dispatcher's part is left out.
    private static func label(_ barrier: ListedBarrier) -> String {
        let word = barrier.word.prefix { $0 != ":" }
        return word.count > 18 ? word.prefix(17) + "…" : String(word)
    }

    private func draw(_ gate: DaemonState.Gate, at x: String, isLow: Bool) -> HTML {
        let y = isLow ? 80 : 64
        return """
            <svg class="gate \(gate.state.rawValue)" x="\(x)" overflow="visible"><title>\(gate.barrier.id): \
            \(gate.state.rawValue)</title><path class="posts" d="M-6 4V48M6 4V48"/>\
            <rect class="plate" x="-5" y="24" width="10" height="24"/>\
            <text y="\(y)" text-anchor="middle">\(Self.label(gate.barrier))</text></svg>

            """
    }
}
