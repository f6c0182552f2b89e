import HeadgateData

/// The model of one client's counters in `client.list`. Answered requests are certain; unanswered ones may be counted
/// already.
struct ClientAccount {
    private static let names = ["received", "duplicates", "unrouted", "rejected", "failed"]

    private var certain: [String: Int] = [:]
    private var perhaps: [String: Int] = [:]

    /// The number of requests without an id. Their outcomes are unknown.
    private(set) var notifications = 0

    /// Records an event sent as a notification.
    mutating func notified() {
        notifications += 1
    }

    /// Records the result of a request with events.
    /// - Parameters:
    ///   - events: The number of events in the request.
    ///   - isRuled: True if events may have been dropped before they were checked for routes. Those are not counted as
    ///     unrouted.
    mutating func answered(_ events: Int, _ result: DataObject, isRuled: Bool) {
        guard events > 0 else { return }
        certain["received", default: 0] += events
        certain["duplicates", default: 0] += ClientAccount.number(result["duplicates"] ?? result["duplicate"])
        let unrouted = ClientAccount.number(result["unrouted"])
        if isRuled { perhaps["unrouted", default: 0] += unrouted } else { certain["unrouted", default: 0] += unrouted }
    }

    /// Returns a count: a number for a batch of events, or 1 for a single event.
    private static func number(_ item: DataItem?) -> Int {
        item.map { Int(dataItem: $0) ?? 1 } ?? 0
    }

    mutating func refused(_ events: Int, because reason: String) {
        certain["failed", default: 0] += 1
        guard ["queue_full", "event_too_large", "storage"].contains(reason) else { return }
        for name in ["received", "rejected"] { certain[name, default: 0] += events }
        // Events that were duplicates or unrouted fail together with their group.
        for name in ["duplicates", "unrouted"] where reason == "storage" { perhaps[name, default: 0] += events }
    }

    /// Compares the client's entry in `client.list` with the model.
    /// - Parameters:
    ///   - owed: The number of outstanding answers.
    ///   - events: The number of events in those requests.
    /// - Returns: The name of a wrong counter, or nil if all are possible.
    func problem(about entry: DataObject, owed: Int, _ events: Int) -> String? {
        let wrong = ClientAccount.names.first { name in
            let least = certain[name] ?? 0
            let open = notifications + (name == "failed" ? owed : events)
            let reported = entry.get(key: name) ?? -1
            return reported < least || reported > least + (perhaps[name] ?? 0) + open
        }
        return wrong.map { "\(entry[$0] ?? .null) \($0), but \(certain[$0] ?? 0) are certain" }
    }
}
