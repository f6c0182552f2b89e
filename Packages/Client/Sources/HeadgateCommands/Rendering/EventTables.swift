import HeadgateClient
import HeadgateData

/// Shows events that wait.
struct QueueText {
    let clock: WallClock
    let style: Style

    /// No more of an event's data is shown in a line.
    static let dataWidth = 60

    /// A dispatcher's events in a table, in their order.
    func list(_ page: PeekedEvents, of dispatcher: String) -> String {
        guard !page.events.isEmpty else { return "Nothing waits.\n" }
        var table = Table([
            .init("SEQ", isNumeric: true), .init("EVENT"), .init("ID"), .init("KEY"), .init("RECEIVED"),
            .init("ATTEMPT", isNumeric: true), .init("DATA"),
        ])
        for event in page.events { table.add(row(event)) }
        guard let next = page.next else { return table.text(style) }
        return table.text(style) + "\nThere are more: `headgate peek \(dispatcher) --after \(next)` shows them.\n"
    }

    private func row(_ event: DataObject) -> [Table.Cell] {
        [
            .init(event.get(key: "seq", as: Int.self).map(String.init) ?? ""),
            .init(event.get(key: "event") ?? "", .strong), .init(event.get(key: "id") ?? ""),
            .init(event.get(key: "key") ?? ""), .init(clock.localised(event.get(key: "received_at") ?? "")),
            .init(event.get(key: "attempt", as: Int.self).map(String.init) ?? ""),
            .init(TextWidth.cut((event["data"] ?? .null).json, to: QueueText.dataWidth), .faint),
        ]
    }
}

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
