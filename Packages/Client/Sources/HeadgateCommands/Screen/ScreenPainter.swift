/// Knows what a screen shows, and what to write so that it shows something else. What is the same is not written again.
struct ScreenPainter {
    /// Nil when that is not known.
    private var shown: [String]?

    /// The screen for something that changes, apart from what was there: no cursor, and no line goes on in the
    /// next.
    static let enter = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l"
    /// Gives back the screen as it was.
    static let leave = "\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"
    private static let clear = "\u{1B}[H\u{1B}[J"

    /// The screen may show anything now.
    mutating func forget() {
        shown = nil
    }

    /// What to write to show these lines, from the top, and nothing below them.
    mutating func text(for lines: [String]) -> String {
        defer { shown = lines }
        guard let shown else { return ScreenPainter.clear + lines.indices.map { line(lines[$0], $0) }.joined() }
        let changed = lines.indices.filter { !shown.indices.contains($0) || shown[$0] != lines[$0] }
        let text = changed.map { line(lines[$0], $0) }.joined()
        return lines.count < shown.count ? text + "\u{1B}[\(lines.count + 1);1H\u{1B}[J" : text
    }

    /// The old line is erased before the new one is written: behind one that fills its row there is no place to do it.
    private func line(_ text: String, _ place: Int) -> String {
        "\u{1B}[\(place + 1);1H\u{1B}[2K\(text)"
    }
}
