import HeadgateData

/// Lays events into one body, as many as the limits allow (Behaviour D1). Pure.
struct BatchBuilder {
    private let format: BatchFormat
    private let mostEvents: Int
    private let byteLimit: Int
    private var body: JSONWriter
    private var events: [Batch.Event] = []
    /// The ids that are in; nil where the same may be in twice.
    private var ids: Set<String>?

    /// - Parameter bytes: about as many as the events will take.
    init(format: BatchFormat, mostEvents: Int, byteLimit: Int, expecting bytes: Int = 0) {
        self.format = format
        self.mostEvents = min(mostEvents, format.mostEvents)
        self.byteLimit = byteLimit
        ids = format.hasDistinctIds ? [] : nil
        body = JSONWriter(capacity: min(byteLimit, bytes))
        body.raw(format.prefix)
    }

    /// Whether another event might be added.
    var hasRoom: Bool { events.count < mostEvents && !isOversize }

    /// Whether the only event is over the limit by itself (Behaviour D2).
    private(set) var isOversize = false

    /// Adds an event if it fits. The first always does: over the limit it goes alone.
    /// - Parameter transformed: the event's JSON when it is not sent as it is stored (Behaviour P4).
    /// - Returns: whether the event is in.
    mutating func add(_ entry: QueueEntry, annotation: QueuedAnnotation?, transformed: [UInt8]? = nil) -> Bool {
        let attempt = entry.attempts + 1
        var event = Batch.Event(
            id: entry.event.id, sequenceNumber: entry.sequenceNumber, range: 0..<0, attempt: attempt)
        guard hasRoom, ids?.contains(event.plainId) != true else { return false }
        let before = body.bytes.count
        if !events.isEmpty { body.raw(format.separator) }
        let start = body.bytes.count
        if let transformed {
            body.raw(transformed)
        } else {
            entry.event.write(into: &body, attempt: attempt, annotation: annotation)
        }
        let isOver = body.bytes.count + format.suffix.count > byteLimit
        if isOver, !events.isEmpty {
            body.bytes.removeLast(body.bytes.count - before)
            return false
        }
        isOversize = isOver
        event.range = start..<body.bytes.count
        events.append(event)
        ids?.insert(event.plainId)
        return true
    }

    var isEmpty: Bool { events.isEmpty }

    var firstSequenceNumber: SequenceNumber? { events.first?.sequenceNumber }

    /// The batch, to which nothing is added any more.
    consuming func batch(number: Int) -> Batch {
        body.raw(format.suffix)
        return Batch(number: number, body: body.bytes, events: events, isOversize: isOversize)
    }
}
