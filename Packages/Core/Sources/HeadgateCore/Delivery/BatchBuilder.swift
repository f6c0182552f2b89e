import HeadgateData

/// Writes events into the body of a batch, as many as the limits allow (Behaviour D1). Pure.
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
    /// other events, and the limit of one of their events applies to the whole batch (Behaviour K3).
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
        events.append(Batch.Event((consume entry).event, attempt: attempt, range: start..<body.bytes.count))
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

/// A batch under construction for one dispatcher. Each event is transformed and annotated as it is added (Behaviour D1,
/// D13, P4).
struct BatchDraft {
    var builder: BatchBuilder
    /// The last event that was processed.
    private(set) var last: SequenceNumber?
    /// Events that transformations dropped.
    private(set) var dropped = SequenceSet()
    /// Events that become dead letters because a transformation failed.
    private(set) var failed = SequenceSet()
    /// The names of the transformations that failed.
    private(set) var failures: [String] = []
    private var annotations: QueuedAnnotations
    private let cloudEvents: CloudEventForm?
    private let chain: TransformationChain
    /// True if all events are sent as they are stored.
    private let isPlain: Bool
    private let surroundings: Dispatcher.Dependencies
    private let dispatcherId: String

    /// The bytes that sending typically adds to an event's stored JSON.
    private static let expectedAddition = 128

    init(
        _ room: BatchRoom, for format: BatchFormat, machine: DeliveryMachine, _ surroundings: Dispatcher.Dependencies
    ) {
        dispatcherId = machine.settings.id
        cloudEvents = format.cloudEvents
        self.surroundings = surroundings
        chain = surroundings.transformations.chain(for: dispatcherId)
        isPlain = chain.isEmpty && cloudEvents == nil
        annotations = machine.annotations(networkConnectionType: surroundings.turn.host?.networkConnectionType)
        // The expected size: all pending events are as large as the first.
        let size = (machine.queue.firstWaiting?.event.byteCount ?? 0) + BatchDraft.expectedAddition
        builder = BatchBuilder(
            format: format, mostEvents: room.most, byteLimit: machine.settings.byteLimit,
            expecting: min(room.bytes, size * min(room.most, room.pending)), room: (room.bytes, room.mostBytes))
    }

    /// Adds an event in the form in which it is sent, or adds it to the dropped or failed events.
    /// - Returns: true if more events may follow.
    mutating func add(_ entry: consuming QueueEntry) -> Bool {
        let number = entry.sequenceNumber
        let annotation = annotations.annotation(of: number)
        let isAdded: Bool
        switch isPlain ? .stored : rendition(of: entry, annotation) {
        case .stored: isAdded = builder.add(consume entry, annotation: annotation)
        case .transformed(let json): isAdded = builder.add(consume entry, annotation: annotation, transformed: json)
        case .nothing:
            dropped.append(number)
            isAdded = true
        case .dead(let transformation):
            failed.append(number)
            if !failures.contains(transformation) { failures.append(transformation) }
            isAdded = true
        }
        if isAdded { last = number }
        return isAdded
    }

    /// The form in which an event is sent.
    private enum Rendition {
        /// The stored form.
        case stored
        /// A form that was transformed or converted to the destination's format.
        case transformed([UInt8])
        /// Not sent: a transformation dropped the event (Behaviour P4).
        case nothing
        /// Not sent: this transformation failed and has `on_error: "drop"` (Behaviour P4).
        case dead(String)
    }

    /// Applies the transformations of this dispatcher, and converts the result to the destination's format.
    private func rendition(of entry: QueueEntry, _ annotation: QueuedAnnotation?) -> Rendition {
        var stored = JSONWriter()
        entry.event.write(
            into: &stored, attempt: entry.progress.attempts + 1, isReplayed: entry.progress.isReplayed,
            annotation: annotation)
        guard let document = EventDocument(json: stored.bytes) else {
            surroundings.counts.count(.transformationErrors)
            return .stored
        }
        let result = chain.transform(document, dispatcher: dispatcherId)
        surroundings.transformations.report(result, surroundings.counts)
        if let fatal = result.fatal { return .dead(fatal) }
        guard let event = result.event else { return .nothing }
        if let cloudEvents { return .transformed(cloudEvents.json(of: event)) }
        return event.isTouched ? .transformed(event.json) : .stored
    }
}
