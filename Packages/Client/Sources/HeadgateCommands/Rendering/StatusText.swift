import HeadgateClient
import HeadgateData
import HeadgateText

/// Describes the daemon's status.
struct StatusText {
    let clock: WallClock
    let style: Style

    /// Returns the result of `status` as text.
    func text(_ status: DataObject) -> String {
        let barriers = ListedBarrier.list(in: status) ?? []
        let dispatchers = ListedDispatcher.list(in: status) ?? []
        let lines = [service(status), store(status), ids(status), network(status), counters(status)].compactMap { $0 }
        let list = DispatcherText(barriers: barriers, clock: clock, style: style).list(dispatchers)
        return lines.joined() + warnings(status) + "\n" + list
    }

    private func service(_ status: DataObject) -> String {
        let version = status.get(key: "version", as: String.self) ?? "?"
        let uptime = Quantity.time(.milliseconds(status.get(key: "uptime_ms", as: Int.self) ?? 0))
        let isReady = status.get(key: "ready") ?? false
        let ready = style.apply(isReady ? .good : .attention, to: isReady ? "ready" : "not ready")
        let clients = Quantity.counted(status.get(key: "clients") ?? 0, "client")
        return line("headgate", "\(PlainText.line(version)), up \(uptime), \(ready), \(clients)")
    }

    private func store(_ status: DataObject) -> String? {
        guard let store = status.get(key: "store", as: DataObject.self) else { return nil }
        let kind = store.get(key: "kind", as: String.self) ?? "?"
        let durability = store.get(key: "durability", as: String.self) ?? "?"
        let events = Quantity.counted(store.get(key: "events") ?? 0, "event")
        let bytes = Quantity.bytes(store.get(key: "bytes") ?? 0)
        let oldest = store.get(key: "oldest_ms", as: Int.self)
        let age = oldest.map { ", the oldest \(Quantity.time(.milliseconds($0))) old" } ?? ""
        let disk = store.get(key: "disk_bytes", as: Int.self).map { ", \(Quantity.bytes($0)) on disk" } ?? ""
        return line("store", "\(PlainText.line("\(kind), durability \(durability)")): \(events), \(bytes)\(age)\(disk)")
    }

    /// Returns the line about remembered IDs, or nil if there are none.
    private func ids(_ status: DataObject) -> String? {
        guard let store = status.get(key: "store", as: DataObject.self),
            let dedupe = store.get(key: "dedupe", as: DataObject.self), let ids = dedupe.get(key: "ids", as: Int.self),
            let since = dedupe.get(key: "since", as: String.self).flatMap(Timestamp.init(rfc3339:))
        else { return nil }
        return line(
            "ids", "\(Quantity.grouped(ids)) remembered, the oldest \(Quantity.time(clock.age(since))) old")
    }

    private func network(_ status: DataObject) -> String? {
        guard let network = status.get(key: "network", as: DataObject.self) else { return nil }
        let kind = network.get(key: "kind", as: String.self).map { " (\($0))" } ?? ""
        return line("network", PlainText.line((network.get(key: "state") ?? "unknown") + kind))
    }

    /// Returns the line of the counters that are not zero, or nil if all are.
    private func counters(_ status: DataObject) -> String? {
        let counters = (status.get(key: "counters") ?? DataObject()).compactMap { name, value -> String? in
            guard let count = value.get(as: Int.self), count != 0 else { return nil }
            return "\(words(name)) \(Quantity.grouped(count))"
        }
        return counters.isEmpty ? nil : line("counters", counters.joined(separator: ", "))
    }

    /// Returns a counter's name for people.
    private func words(_ name: String) -> String {
        switch name {
        case "dead": "dead-lettered"
        case "transformed_away": "dropped by transformations"
        case "limited": "refused by a limit"
        default: PlainText.line(String(name.map { $0 == "_" ? " " : $0 }))
        }
    }

    private func warnings(_ status: DataObject) -> String {
        let warnings = status.get(key: "warnings", as: [String].self) ?? []
        return warnings.map { line("warning", style.apply(.attention, to: PlainText.line($0))) }.joined()
    }

    private func line(_ name: String, _ text: String) -> String {
        let padding = String(repeating: " ", count: max(0, 8 - name.count))
        return "\(style.apply(.strong, to: name))\(padding)  \(text)\n"
    }
}

/// Describes dispatchers: their counts, their queues, and the barriers that block them.
struct DispatcherText {
    let barriers: [ListedBarrier]
    let clock: WallClock
    let style: Style

    /// Returns all dispatchers as a table, with remarks about those that are blocked or fail.
    func list(_ dispatchers: [ListedDispatcher]) -> String {
        guard !dispatchers.isEmpty else { return "There are no dispatchers.\n" }
        var table = Table([
            .init("DISPATCHER"), .init("KIND"), .init("STATE"), .init("PENDING", isNumeric: true),
            .init("IN FLIGHT", isNumeric: true), .init("DELIVERED", isNumeric: true), .init("FAILED", isNumeric: true),
            .init("DEAD-LETTERED", isNumeric: true), .init("OLDEST"),
        ])
        for dispatcher in dispatchers { table.add(row(dispatcher)) }
        let remarks = dispatchers.flatMap { self.remarks(on: $0, dispatchers) }
        return table.text(style) + (remarks.isEmpty ? "" : "\n") + remarks.joined()
    }

    private func row(_ dispatcher: ListedDispatcher) -> [Table.Cell] {
        [
            .init(dispatcher.id, .strong), .init(dispatcher.kind),
            dispatcher.isOpen ? .init("open", .good) : .init("blocked", .attention),
            .init(dispatcher.pending), .init(dispatcher.inFlight), .init(dispatcher.sent),
            .init(dispatcher.failed, .attention), .init(dispatcher.dead, .bad),
            .init(dispatcher.oldest.map(Quantity.time) ?? "–"),
        ]
    }

    private func remarks(on dispatcher: ListedDispatcher, _ all: [ListedDispatcher]) -> [String] {
        let words = BarrierText(dispatchers: all, clock: clock)
        var remarks = words.holders(of: dispatcher, among: barriers)
        if dispatcher.isFlushing { remarks.append("is being flushed") }
        if let error = dispatcher.lastErrorText(clock) { remarks.append(error) }
        if dispatcher.expired > 0 { remarks.append("\(Quantity.counted(dispatcher.expired, "event")) expired") }
        if dispatcher.evicted > 0 { remarks.append("\(Quantity.counted(dispatcher.evicted, "event")) evicted") }
        return remarks.map { "\(style.apply(.strong, to: PlainText.line(dispatcher.id))): \(PlainText.line($0))\n" }
    }
}

/// Describes the end of a flush (Behaviour F2).
struct FlushText {
    let style: Style

    /// Returns the answer as text.
    func text(_ answer: FinishedFlush) -> String {
        guard !answer.dispatchers.isEmpty else { return heading(answer) + "\n" }
        var table = Table([
            .init("DISPATCHER"), .init("DELIVERED", isNumeric: true), .init("FAILED", isNumeric: true),
            .init("REMAINING", isNumeric: true), .init("BLOCKED BY"),
        ])
        for part in answer.dispatchers {
            table.add([
                .init(part.dispatcher, .strong), .init(part.sent), .init(part.failed, .bad),
                .init(part.left, .attention), .init(part.blockedBy.joined(separator: ", ")),
            ])
        }
        return heading(answer) + "\n" + table.text(style)
    }

    private func heading(_ answer: FinishedFlush) -> String {
        switch answer.ended {
        case .settled: style.apply(.good, to: "All events were delivered or dropped.")
        case .timeout: style.apply(.attention, to: "The flush timed out before all events were delivered or dropped.")
        case .cancelled: style.apply(.attention, to: "The flush was cancelled.")
        }
    }
}
