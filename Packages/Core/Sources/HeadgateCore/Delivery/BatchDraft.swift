import HeadgateData

/// A batch under construction for one dispatcher. Each event is transformed and annotated as it is added (Behaviour D1,
/// D13, P4).
struct BatchDraft {
    var builder: BatchBuilder
    /// The last event that was processed.
    private(set) var last: SequenceNumber?
    /// Events that transformations dropped.
    private(set) var dropped = SequenceSet()
    /// Events from before the dispatcher was added that its load rule refuses (Behaviour R4).
    private(set) var refused = SequenceSet()
    /// Events that become dead letters because a transformation failed.
    private(set) var failed = SequenceSet()
    /// The room for their dead letters (Behaviour D10).
    private var deadLetterRoom: DeadLetterRoom
    /// The names of the transformations that failed.
    private(set) var failures: [String] = []
    /// True if events were refused, dropped or failed.
    var hasLeftOut: Bool { !refused.isEmpty || !dropped.isEmpty || !failed.isEmpty }
    private var annotations: QueuedAnnotations
    private let cloudEvents: CloudEventForm?
    private let chain: TransformationChain
    /// True if all events are sent as they are stored.
    private let isPlain: Bool
    private let transformations: Transformations
    private let loadRules: LoadRouter
    private let dispatcher: DispatcherNumber
    private let judgedThrough: SequenceNumber
    private let counts: EventCounts
    private let dispatcherId: String

    /// The bytes that sending typically adds to an event's stored JSON.
    private static let expectedAddition = 128

    init(
        _ room: BatchRoom, for format: BatchFormat, machine: DeliveryMachine, _ transformations: Transformations,
        _ loadRules: LoadRouter, _ counts: EventCounts, deadLetterRoom: DeadLetterRoom, networkConnectionType: String?
    ) {
        self.deadLetterRoom = deadLetterRoom
        dispatcherId = machine.settings.id
        cloudEvents = format.cloudEvents
        (self.transformations, self.loadRules, self.counts) = (transformations, loadRules, counts)
        (dispatcher, judgedThrough) = (machine.queue.number, machine.queue.judgedThrough)
        chain = transformations.chain(for: dispatcherId)
        isPlain = chain.isEmpty && cloudEvents == nil
        annotations = machine.annotations(networkConnectionType: networkConnectionType)
        // The expected size: all pending events are as large as the first.
        let size = (machine.queue.firstWaiting?.event.byteCount ?? 0) + BatchDraft.expectedAddition
        builder = BatchBuilder(
            format: format, mostEvents: room.most, byteLimit: machine.settings.byteLimit,
            expecting: min(room.bytes, size * min(room.most, room.pending)), room: (room.bytes, room.mostBytes))
    }

    /// Adds an event in the form in which it is sent, or adds it to the refused, dropped or failed events.
    /// - Returns: true if more events may follow.
    mutating func add(_ entry: consuming QueueEntry) -> Bool {
        let number = entry.sequenceNumber
        if number <= judgedThrough, isRefused(entry.event) {
            refused.append(number)
            last = number
            return true
        }
        let annotation = annotations.annotation(of: number)
        let size = entry.event.record.count
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
            // An event that no dead letter has room for stays in the queue, and no later event may overtake it.
            isAdded = deadLetterRoom.take(size)
        }
        if isAdded { last = number }
        return isAdded
    }

    /// Returns true if the dispatcher's load rule refuses an event. An event that cannot be read is refused by no rule.
    private func isRefused(_ event: StoredEvent) -> Bool {
        var stored = JSONWriter()
        event.write(into: &stored, attempt: 1, isReplayed: false, annotation: nil)
        return EventDocument(json: stored.bytes).map { loadRules.refuses($0, for: dispatcher) } ?? false
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
            counts.count(.transformationErrors)
            return .stored
        }
        let result = chain.transform(document, dispatcher: dispatcherId)
        transformations.report(result)
        if let fatal = result.fatal { return .dead(fatal) }
        guard let event = result.event else { return .nothing }
        if let cloudEvents { return .transformed(cloudEvents.json(of: event)) }
        return event.isTouched ? .transformed(event.json) : .stored
    }
}
