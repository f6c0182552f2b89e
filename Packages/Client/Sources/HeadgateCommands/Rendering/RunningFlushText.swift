import HeadgateClient
import HeadgateData
import HeadgateText

/// A flush under way (Protocol, `flush.list`).
struct RunningFlush: Equatable {
    let id: String
    /// The user who began the flush, or nil if the daemon did.
    let uid: Int?
    let dispatchers: [String]
    let since: Timestamp?
    /// The time after which the flush ends, or nil if there is none.
    let timeout: Duration?

    init(_ entry: DataObject) {
        id = entry.get(key: "flush") ?? ""
        uid = entry.get(key: "uid")
        dispatchers = entry.get(key: "dispatchers") ?? []
        since = entry.get(key: "since", as: String.self).flatMap(Timestamp.init(rfc3339:))
        timeout = entry.get(key: "timeout_ms", as: Int.self).map { .milliseconds($0) }
    }

    static func list(in answer: DataObject) -> [RunningFlush] {
        (answer.get(key: "flushes", as: [DataObject].self) ?? []).map(RunningFlush.init)
    }
}

/// Describes the flushes under way.
struct RunningFlushText {
    let clock: WallClock
    let style: Style

    func list(_ flushes: [RunningFlush]) -> String {
        guard !flushes.isEmpty else { return "No flush is in progress.\n" }
        var table = Table([
            .init("FLUSH"), .init("UID", isNumeric: true), .init("RUNNING FOR"), .init("TIMEOUT"), .init("DISPATCHERS"),
        ])
        for flush in flushes { table.add(row(flush)) }
        return table.text(style)
    }

    private func row(_ flush: RunningFlush) -> [Table.Cell] {
        [
            .init(flush.id, .strong), .init(flush.uid.map(String.init) ?? "daemon"),
            .init(flush.since.map { Quantity.time(clock.age($0)) } ?? "–"),
            flush.timeout.map { .init(Quantity.time($0)) } ?? .init("none", .attention),
            .init(flush.dispatchers.joined(separator: ", ")),
        ]
    }
}
