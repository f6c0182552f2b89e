/// Some of what waits for a dispatcher, in order: as many events as were asked for, or fewer where they are large.
public struct QueuePage: Sendable, Equatable {
    /// Each event's JSON as it is stored, not transformed yet.
    public private(set) var events: [[UInt8]] = []
    /// Behind which event there are more; nil when these are all.
    public private(set) var next: SequenceNumber?
    private var last: SequenceNumber = 0
    private var bytes = 0

    init() {}

    /// Whether an event had no room any more.
    var isFull: Bool { next != nil }

    /// Takes the next event in if it has room; else it is the first of the next page.
    mutating func take(_ event: StoredEvent, attempt: Int, limit: Int) {
        let json = event.json(attempt: attempt)
        guard events.isEmpty || (events.count < limit && bytes + json.count + 1 <= PageLimit.bytes) else {
            next = last
            return
        }
        events.append(json)
        // With the comma behind it.
        bytes += json.count + 1
        last = event.sequenceNumber
    }
}
