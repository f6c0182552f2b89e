import HeadgateClient
import HeadgateData

/// Shows the events that dispatchers gave up, and why.
struct DeadLetterText {
    let clock: WallClock
    let style: Style

    /// The letters in a table, the oldest first, and how to see those behind them.
    func list(_ page: DeadLetterPage) -> String {
        guard !page.letters.isEmpty else { return "There are no dead letters.\n" }
        var table = Table([
            .init("LETTER", isNumeric: true), .init("DISPATCHER"), .init("REASON"), .init("STATUS", isNumeric: true),
            .init("ATTEMPTS", isNumeric: true), .init("DIED"), .init("EVENT"), .init("ID"), .init("ANSWER"),
        ])
        for letter in page.letters { table.add(row(letter)) }
        guard let next = page.next else { return table.text(style) }
        return table.text(style) + "\nThere are more: `headgate dead-letters --after \(next)` shows them.\n"
    }

    private func row(_ letter: ListedDeadLetter) -> [Table.Cell] {
        let event = letter.event ?? [:]
        return [
            .init(String(letter.letter)), .init(letter.dispatcher, .strong), .init(letter.reason, .bad),
            .init(letter.status.map(String.init) ?? "–"), .init(letter.attempts),
            .init(letter.diedAt.map(clock.text) ?? "–"),
            letter.event == nil ? .init("damaged", .bad) : .init(event.get(key: "event") ?? ""),
            .init(event.get(key: "id") ?? ""),
            .init(TextWidth.cut(letter.answer ?? "", to: QueueText.dataWidth), .faint),
        ]
    }
}
