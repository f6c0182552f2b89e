import HeadgateCore

/// Whether events come in their order: those of one key, or all where only one batch is in flight at a time
/// (Behaviour Q2).
struct OrderCheck {
    /// Whether all events are in one order.
    let isWhole: Bool
    private var sent: Set<SequenceNumber> = []
    private var highest: [String: SequenceNumber] = [:]
    /// Those that were sent, by key.
    private var byKey: [String: Set<SequenceNumber>] = [:]

    init(isWhole: Bool) {
        self.isWhole = isWhole
    }

    /// - Parameter unfinished: events that were not seen to end, where that is certain.
    /// - Returns: what is wrong with a batch, if anything is.
    mutating func complaint(of events: [Batch.Event], unfinished: Set<SequenceNumber>) -> String? {
        let batch = Set(events.map(\.sequenceNumber))
        var complaint: String?
        for event in events {
            guard let key = isWhole ? "" : EventKey.of(id: event.id) else { continue }
            let number = event.sequenceNumber
            if let high = highest[key], high > number, !sent.contains(number) { complaint = "\(number) after \(high)" }
            let before = byKey[key, default: []].first { $0 < number && unfinished.contains($0) && !batch.contains($0) }
            if let before { complaint = "\(number) while \(before) is not finished" }
            highest[key] = max(highest[key] ?? 0, number)
            byKey[key, default: []].insert(number)
            sent.insert(number)
        }
        return complaint
    }
}

/// The key of an event follows from its id, so that whoever gets the event knows it.
enum EventKey {
    /// - Parameter id: with quotes around it, or without.
    static func of(id: String) -> String? {
        // An id that the daemon has made has none.
        let id = id.filter { $0 != "\"" }
        guard id.hasPrefix("e"), let number = Int(id.dropFirst()), number % 3 > 0 else { return nil }
        return "k\(number % 3)"
    }
}
