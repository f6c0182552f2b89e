import HeadgateClient
import HeadgateData
import HeadgateText

/// The queue of a dispatcher that is no longer configured (Behaviour Q3).
struct ListedOrphan: Equatable {
    let id: String
    let events: Int
    /// The age of the oldest event, or nil if the daemon does not know it yet.
    let oldest: Duration?
    /// The time at which the daemon drops the queue.
    let until: Timestamp?

    init(_ entry: DataObject) {
        id = entry.get(key: "id") ?? ""
        events = entry.get(key: "events") ?? 0
        oldest = entry.get(key: "oldest_ms", as: Int.self).map { .milliseconds($0) }
        until = entry.get(key: "until", as: String.self).flatMap(Timestamp.init(rfc3339:))
    }

    /// Reads the member `orphans` of `dispatcher.list` or `status`.
    static func list(in answer: DataObject) -> [ListedOrphan] {
        (answer.get(key: "orphans", as: [DataObject].self) ?? []).map(ListedOrphan.init)
    }
}

/// Describes queues without a dispatcher, and how to get their events sent.
struct OrphanText {
    let clock: WallClock
    let style: Style

    /// Returns the queues as a table with the cure below it. The text is empty if there are none.
    func list(_ orphans: [ListedOrphan]) -> String {
        guard !orphans.isEmpty else { return "" }
        var table = Table([
            .init("REMOVED DISPATCHER"), .init("PENDING", isNumeric: true), .init("OLDEST"), .init("KEPT UNTIL"),
        ])
        for orphan in orphans {
            table.add([
                .init(orphan.id, .strong), .init(orphan.events, .attention),
                .init(orphan.oldest.map(Quantity.time) ?? "–"), .init(orphan.until.map(clock.text) ?? "–"),
            ])
        }
        return "\n" + table.text(style) + "\n" + orphans.map(cure).joined()
    }

    private func cure(_ orphan: ListedOrphan) -> String {
        let id = PlainText.line(orphan.id)
        return "\(style.apply(.strong, to: id)): configure it again, or let a new dispatcher take over its events with "
            + "\"formerly\": \(PlainText.line(DataItem.string(orphan.id).json)); `headgate export \(id)` prints them\n"
    }
}
