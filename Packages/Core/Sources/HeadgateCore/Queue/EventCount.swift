/// The store's count of a dispatcher's events at the time when its queue was created.
///
/// The count may be damaged. An uncounted event would be mistaken for a later one, and then a later event would never
/// be read. Events that are found beyond the count are therefore counted when they are found (Behaviour Q8).
struct EventCount {
    /// The newest event that was stored at that time.
    private let through: SequenceNumber
    /// The number of counted events that have not been seen.
    private var left: Int
    /// Events that were seen beyond the count.
    private var found = RouteTallies()

    static let none = EventCount(0, through: 0)

    init(_ count: Int, through newest: SequenceNumber) {
        (left, through) = (count, newest)
    }

    /// Counts an event that is seen for the first time.
    mutating func take(_ event: StoredEvent) {
        guard event.sequenceNumber <= through else { return }
        if left > 0 { left -= 1 } else { found.add(event) }
    }

    var foundCount: Int { found.total.events }

    func isOlder(_ sequenceNumber: SequenceNumber) -> Bool { sequenceNumber <= through }

    mutating func takeFound() -> RouteTallies {
        guard !found.isEmpty else { return RouteTallies() }
        defer { found = RouteTallies() }
        return found
    }
}
