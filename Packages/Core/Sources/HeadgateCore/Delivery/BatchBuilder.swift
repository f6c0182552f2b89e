import HeadgateData

/// Lays events into one body, as many as the limits allow (Behaviour D1). Pure.
struct BatchBuilder {
    private let format: BatchFormat
    private var mostEvents: Int
    private let byteLimit: Int
    /// The most bytes of several events, and of one.
    private let room: (bytes: Int, mostBytes: Int)
    private var body: JSONWriter
    private var events: [Batch.Event] = []
    /// The ids that are in; nil where the same may be in twice.
    private var ids: Set<String>?

    /// - Parameters:
    ///   - bytes: about as many as the events will take.
    ///   - room: the most bytes that several events may take, and that one may take, beside what is in flight.
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

    /// Whether another event might be added.
    var hasRoom: Bool { events.count < mostEvents && !isOversize }

    /// Whether the only event is over the limit by itself (Behaviour D2).
    private(set) var isOversize = false

    /// Returns true if an event may join those of the batch. Halves of a batch that was lost with its workers go without
    /// others, and an event's share of such a batch bounds the whole (Behaviour K3).
    func mayTake(_ progress: Progress) -> Bool {
        guard let isOfHalf else { return true }
        return isOfHalf == (progress.mostInBatch != nil) && events.count < Int(progress.mostInBatch ?? .max)
    }

    /// True if the batch is a half of one that was lost with its workers; nil while it is empty.
    private var isOfHalf: Bool?

    /// Adds an event if it fits. The first always does: over the limit it goes alone.
    /// - Parameter transformed: the event's JSON when it is not sent as it is stored (Behaviour P4, K1).
    /// - Returns: whether the event is in.
    mutating func add(
        _ entry: consuming QueueEntry, annotation: QueuedAnnotation?, transformed: [UInt8]? = nil
    ) -> Bool {
        let attempt = entry.progress.attempts + 1
        let share = entry.progress.mostInBatch
        guard hasRoom, mayTake(entry.progress) else { return false }
        let id = ids == nil ? nil : entry.event.id.plainText
        if let id, ids?.contains(id) == true { return false }
        let before = body.bytes.count
        if !events.isEmpty { body.raw(format.separator) }
        let start = body.bytes.count
        if let transformed {
            body.raw(transformed)
        } else {
            entry.event.write(into: &body, attempt: attempt, annotation: annotation)
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

    /// Ends the batch, to which nothing is added any more. The body is ended where it lies: it would be copied if somebody else had it as
    /// well.
    mutating func end(number: Int) -> Batch {
        body.raw(format.suffix)
        return Batch(number: number, body: body.bytes, events: events, isOversize: isOversize)
    }
}

/// A batch that is being laid for one dispatcher: each event as it is to go out, transformed and with what it says about
/// having been held (Behaviour D1, D13, P4).
struct BatchInMaking {
    var builder: BatchBuilder
    /// The last event that was looked at.
    private(set) var last: SequenceNumber?
    /// Events that were transformed away.
    private(set) var dropped = SequenceSet()
    /// Events that are dead letters because a transformation failed.
    private(set) var failed = SequenceSet()
    /// The failures of these.
    private(set) var failures: [String] = []
    private var annotations: QueuedAnnotations
    private let cloudEvents: CloudEventForm?
    private let chain: TransformationChain
    /// Whether all go out as they lie in the store.
    private let isPlain: Bool
    private let surroundings: Dispatcher.Surroundings
    private let dispatcherId: String

    /// About as many bytes are added to an event's stored JSON as it goes out.
    private static let expectedAddition = 128

    init(
        _ room: BatchRoom, for format: BatchFormat, machine: DeliveryMachine, _ surroundings: Dispatcher.Surroundings
    ) {
        dispatcherId = machine.settings.id
        cloudEvents = format.cloudEvents
        self.surroundings = surroundings
        chain = surroundings.transformations.chain(for: dispatcherId)
        isPlain = chain.isEmpty && cloudEvents == nil
        annotations = machine.annotations(networkConnectionType: surroundings.turn.host?.networkConnectionType)
        // Room for as many events as wait if all are as large as the first.
        let size = (machine.queue.firstWaiting?.event.byteCount ?? 0) + BatchInMaking.expectedAddition
        builder = BatchBuilder(
            format: format, mostEvents: room.most, byteLimit: machine.settings.byteLimit,
            expecting: min(room.bytes, size * min(room.most, room.pending)), room: (room.bytes, room.mostBytes))
    }

    /// Adds an event as it is to go out, or to the dropped or failed ones.
    /// - Returns: whether others may follow.
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

    /// How an event goes out.
    private enum Rendition {
        /// As it lies in the store.
        case stored
        /// In this JSON: transformed, or laid otherwise.
        case transformed([UInt8])
        /// Not at all: it was transformed away (Behaviour P4).
        case nothing
        /// Not at all: this transformation failed, and wants it to be a dead letter (Behaviour P4).
        case dead(String)
    }

    /// Does the transformations that stand between the store and this dispatcher, and lays what comes of them as the
    /// destination wants each event.
    private func rendition(of entry: QueueEntry, _ annotation: QueuedAnnotation?) -> Rendition {
        var stored = JSONWriter()
        entry.event.write(into: &stored, attempt: entry.progress.attempts + 1, annotation: annotation)
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
