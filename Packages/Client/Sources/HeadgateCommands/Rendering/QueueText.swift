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
