import HeadgateCore

/// A check of the order of events: per key, or of all events if only one batch is in flight at a time (Behaviour Q2).
struct OrderCheck {
    /// True if all events are in one order.
    let isWhole: Bool
    private var sent: Set<SequenceNumber> = []
    private var highest: [String: SequenceNumber] = [:]
    /// Sent events by key.
    private var byKey: [String: Set<SequenceNumber>] = [:]

    init(isWhole: Bool) {
        self.isWhole = isWhole
    }

    /// Checks the order of the events of a batch.
    /// - Parameter unfinished: Events that have certainly not ended.
    /// - Returns: A description of an error in the batch, or nil.
    mutating func problem(of events: [Batch.Event], unfinished: Set<SequenceNumber>) -> String? {
        let batch = Set(events.map(\.sequenceNumber))
        var problem: String?
        for event in events {
            guard let key = isWhole ? "" : EventKey.of(id: event.id) else { continue }
            let number = event.sequenceNumber
            if let high = highest[key], high > number, !sent.contains(number) { problem = "\(number) after \(high)" }
            let before = byKey[key, default: []].first { $0 < number && unfinished.contains($0) && !batch.contains($0) }
            if let before { problem = "\(number) while \(before) is not finished" }
            highest[key] = max(highest[key] ?? 0, number)
            byKey[key, default: []].insert(number)
            sent.insert(number)
        }
        return problem
    }
}

/// The key of an event, derived from its id, so that every receiver knows the key.
enum EventKey {
    /// Returns the key of the event with an id, or nil if it has none.
    /// - Parameter id: The id, with or without quotes.
    static func of(id: String) -> String? {
        // An id created by the daemon has no key.
        let id = id.filter { $0 != "\"" }
        guard id.hasPrefix("e"), let number = Int(id.dropFirst()), number % 3 > 0 else { return nil }
        return "k\(number % 3)"
    }
}
