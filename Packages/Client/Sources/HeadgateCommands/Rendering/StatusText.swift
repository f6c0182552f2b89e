import HeadgateClient
import HeadgateData

/// Says how the daemon is: what a person asks first.
struct StatusText {
    let clock: WallClock
    let style: Style

    /// The result of `status`, in words.
    func text(_ status: DataObject) -> String {
        let barriers = BarrierSummary.list(in: status) ?? []
        let dispatchers = DispatcherSummary.list(in: status) ?? []
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
        return line("store", "\(PlainText.line("\(kind), durability \(durability)")): \(events), \(bytes)\(age)")
    }

    /// The ids of clients that are remembered, where there are any.
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

    /// Those that are not zero.
    private func counters(_ status: DataObject) -> String? {
        let counters = (status.get(key: "counters") ?? DataObject()).compactMap { name, value -> String? in
            guard let count = value.get(as: Int.self), count != 0 else { return nil }
            return "\(words(name)) \(Quantity.grouped(count))"
        }
        return counters.isEmpty ? nil : line("counters", counters.joined(separator: ", "))
    }

    private func words(_ name: String) -> String {
        PlainText.line(String(name.map { $0 == "_" ? " " : $0 }))
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
