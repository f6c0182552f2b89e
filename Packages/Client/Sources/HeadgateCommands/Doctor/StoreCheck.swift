import HeadgateData
import HeadgateText

/// Judges the use of the event store: how full it is, and who fills it (Behaviour Q4).
struct StoreCheck {
    /// The number of stored events.
    let events: Int
    /// The part of the limits that is used, from 0 to 1: the larger one of events and bytes.
    let used: Double
    /// The senders of pending events, those with most pending events first.
    let senders: [ListedSender]

    /// The part of a limit from which on the store is nearly full.
    private static let nearlyFull = 0.8

    /// - Parameters:
    ///   - status: the result of `status`.
    ///   - settings: the settings in force.
    ///   - clients: the result of `client.list`.
    init(_ status: DataObject, settings: DataObject, clients: DataObject) {
        let store = status.get(key: "store", as: DataObject.self) ?? [:]
        let limits = settings.get(key: "store", as: DataObject.self) ?? [:]
        func part(_ value: String, of limit: String) -> Double {
            guard let value: Int = store.get(key: value), let limit: Int = limits.get(key: limit), limit > 0
            else { return 0 }
            return Double(value) / Double(limit)
        }
        events = store.get(key: "events") ?? 0
        used = max(part("events", of: "max_events"), part("bytes", of: "max_bytes"))
        senders = ListedSender.list(in: clients)
    }

    /// The finding, or nil if the store is empty.
    var finding: Finding? {
        guard events > 0 else { return nil }
        let words = "\(StoreCheck.percent(used)) full, \(Quantity.counted(events, "event"))\(largest)"
        guard used >= StoreCheck.nearlyFull else { return .fine("store", words) }
        return .doubtful(
            "store", words,
            "find what holds the dispatchers (`headgate dispatchers`); limits.rate slows down a user who sends too much"
        )
    }

    private var largest: String {
        guard let most = senders.first, most.pendingEvents > 0 else { return "" }
        return
            "; \(most.name) sent \(StoreCheck.percent(Double(most.pendingEvents) / Double(events))) of the pending events"
    }

    private static func percent(_ part: Double) -> String { "\(Int((min(part, 1) * 100).rounded(.down))) %" }
}
