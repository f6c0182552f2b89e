import HeadgateData

/// What one client knows of what is counted of it (`client.list`): what it was told is certain, and what it was not told yet may be counted.
struct ClientAccount {
    private static let names = ["received", "duplicates", "unrouted", "rejected", "failed"]

    private var certain: [String: Int] = [:]
    private var perhaps: [String: Int] = [:]

    /// What is sent without an id may come to anything, and nobody is told.
    private(set) var notifications = 0

    /// An event is sent that is not answered.
    mutating func notified() {
        notifications += 1
    }

    /// - Parameters:
    ///   - events: how many the request was to store.
    ///   - isRuled: whether what no dispatcher wants may have been dropped before that was looked at, which is not counted as such.
    mutating func answered(_ events: Int, _ result: DataObject, isRuled: Bool) {
        guard events > 0 else { return }
        certain["received", default: 0] += events
        certain["duplicates", default: 0] += ClientAccount.number(result["duplicates"] ?? result["duplicate"])
        let unrouted = ClientAccount.number(result["unrouted"])
        if isRuled { perhaps["unrouted", default: 0] += unrouted } else { certain["unrouted", default: 0] += unrouted }
    }

    /// In a batch of events a number, of one whether it is so.
    private static func number(_ item: DataItem?) -> Int {
        item.map { Int(dataItem: $0) ?? 1 } ?? 0
    }

    mutating func refused(_ events: Int, because reason: String) {
        certain["failed", default: 0] += 1
        guard ["queue_full", "event_too_large", "storage"].contains(reason) else { return }
        for name in ["received", "rejected"] { certain[name, default: 0] += events }
        // What was there already fails with the group all the same.
        for name in ["duplicates", "unrouted"] where reason == "storage" { perhaps[name, default: 0] += events }
    }

    /// - Parameters:
    ///   - owed: how many answers are still to come.
    ///   - events: how many events these are about.
    /// - Returns: what is told of the client, and cannot be.
    func complaint(about entry: DataObject, owed: Int, _ events: Int) -> String? {
        let wrong = ClientAccount.names.first { name in
            let least = certain[name] ?? 0
            let open = notifications + (name == "failed" ? owed : events)
            let told = entry.get(key: name) ?? -1
            return told < least || told > least + (perhaps[name] ?? 0) + open
        }
        return wrong.map { "\(entry[$0] ?? .null) \($0), and it knows of \(certain[$0] ?? 0)" }
    }
}
