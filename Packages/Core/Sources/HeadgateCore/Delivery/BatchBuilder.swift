import HeadgateData

/// A writer of events into the body of a batch, as many as the limits allow (Behaviour D1). Pure.
struct BatchBuilder {
    private let format: BatchFormat
    private var mostEvents: Int
    private let byteLimit: Int
    /// The most bytes of several events, and of a single event.
    private let room: (bytes: Int, mostBytes: Int)
    private var body: JSONWriter
    private var events: [Batch.Event] = []
    /// The bytes of the ids in the batch; nil if ids may repeat.
    private var ids: Set<[UInt8]>?

    /// Creates a builder.
    /// - Parameters:
    ///   - format: the destination's format.
    ///   - mostEvents: the most events in the batch.
    ///   - byteLimit: the limit of the body in bytes.
    ///   - bytes: the expected size of the events.
    ///   - room: the most bytes that several events may take, and that a single event may take, beside the batches in
    ///     flight.
    init(
        format: BatchFormat, mostEvents: Int, byteLimit: Int, expecting bytes: Int = 0,
        room: (bytes: Int, mostBytes: Int) = (.max, .max)
    ) {
        self.room = room
        self.format = format
        self.mostEvents = min(mostEvents, format.mostEvents)
        self.byteLimit = byteLimit
        ids = format.hasDistinctIds ? [] : nil
        body = JSONWriter(capacity: min(byteLimit, bytes))
        body.raw(format.prefix)
    }

    /// True if another event may be added.
    var hasRoom: Bool { events.count < mostEvents && !isOversize }

    /// True if the only event exceeds the byte limit (Behaviour D2).
    private(set) var isOversize = false

    /// Returns true if an event may be added to the batch. Halves of a batch that was lost with its worker contain no
    /// other events. The limit of one of their events applies to the whole batch (Behaviour K3).
    func mayTake(_ progress: Progress) -> Bool {
        guard let isOfHalf else { return true }
        return isOfHalf == (progress.mostInBatch != nil) && events.count < Int(progress.mostInBatch ?? .max)
    }

    /// True if the batch is half of a batch that was lost with its worker; nil while the batch is empty.
    private var isOfHalf: Bool?

    /// Adds an event if it fits. The first event always fits: over the byte limit it is sent alone.
    /// - Parameters:
    ///   - entry: the event.
    ///   - annotation: members to add to its data; nil for none.
    ///   - transformed: the event's JSON if it differs from the stored event (Behaviour P4, K1).
    /// - Returns: true if the event was added.
    mutating func add(
        _ entry: consuming QueueEntry, annotation: QueuedAnnotation?, transformed: [UInt8]? = nil
    ) -> Bool {
        let (attempt, isReplayed) = (entry.progress.attempts + 1, entry.progress.isReplayed)
        let share = entry.progress.mostInBatch
        guard hasRoom, mayTake(entry.progress) else { return false }
        let id = ids == nil ? nil : entry.event.id.exactText
        if let id, ids?.contains(id) == true { return false }
        let before = body.bytes.count
        if !events.isEmpty { body.raw(format.separator) }
        let start = body.bytes.count
        if let transformed {
            body.raw(transformed)
        } else {
            entry.event.write(into: &body, attempt: attempt, isReplayed: isReplayed, annotation: annotation)
        }
        let count = body.bytes.count + format.suffix.count
        let isOver = count > byteLimit
        if events.isEmpty ? count > room.mostBytes : isOver || count > room.bytes {
            body.bytes.removeLast(body.bytes.count - before)
            return false
        }
        isOversize = isOver
        isOfHalf = share != nil
        if let share { mostEvents = min(mostEvents, Int(share)) }
        if let id { ids?.insert(id) }
        events.append(
            Batch.Event(
                (consume entry).event, attempt: attempt, range: start..<body.bytes.count, isChanged: transformed != nil)
        )
        return true
    }

    var isEmpty: Bool { events.isEmpty }

    var firstSequenceNumber: SequenceNumber? { events.first?.sequenceNumber }

    /// Finishes the batch. The body is completed in place, without a copy.
    mutating func end(number: Int) -> Batch {
        body.raw(format.suffix)
        return Batch(number: number, body: body.bytes, events: events, isOversize: isOversize)
    }
}
