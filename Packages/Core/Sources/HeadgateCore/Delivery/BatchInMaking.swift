import HeadgateData

/// A batch that is being laid for one dispatcher: each event as it is to go out, transformed and with what it says about
/// having been held (Behaviour D1, D13, P4).
struct BatchInMaking {
    private(set) var builder: BatchBuilder
    /// The last event that was looked at.
    private(set) var last: QueueEntry?
    /// Events that were transformed away.
    private(set) var dropped = SequenceSet()
    private var annotations: QueuedAnnotations
    private let chain: TransformationChain
    private let surroundings: Dispatcher.Surroundings
    private let dispatcherId: String

    /// About as many bytes are added to an event's stored JSON as it goes out.
    private static let expectedAddition = 128

    init(
        _ room: BatchRoom, for format: BatchFormat, machine: DeliveryMachine, _ surroundings: Dispatcher.Surroundings
    ) {
        dispatcherId = machine.settings.id
        self.surroundings = surroundings
        chain = surroundings.transformations.chain(for: dispatcherId)
        annotations = machine.annotations(networkConnectionType: surroundings.turn.host?.networkConnectionType)
        // Room for as many events as wait if all are as large as the first.
        let size = (machine.queue.firstWaiting?.event.byteCount ?? 0) + BatchInMaking.expectedAddition
        builder = BatchBuilder(
            format: format, mostEvents: room.most, byteLimit: machine.settings.byteLimit,
            expecting: size * min(room.most, room.pending))
    }

    /// Adds an event as it is to go out, or to the dropped ones.
    /// - Returns: whether others may follow.
    mutating func add(_ entry: QueueEntry) -> Bool {
        let annotation = annotations.annotation(of: entry.sequenceNumber)
        let isAdded: Bool
        switch rendition(of: entry, annotation) {
        case .stored: isAdded = builder.add(entry, annotation: annotation)
        case .transformed(let json): isAdded = builder.add(entry, annotation: annotation, transformed: json)
        case .nothing:
            dropped.append(entry.sequenceNumber)
            isAdded = true
        }
        if isAdded { last = entry }
        return isAdded
    }

    /// How an event goes out.
    private enum Rendition {
        /// As it lies in the store.
        case stored
        /// In this JSON.
        case transformed([UInt8])
        /// Not at all: it was transformed away (Behaviour P4).
        case nothing
    }

    /// Does the transformations that stand between the store and this dispatcher.
    private func rendition(of entry: QueueEntry, _ annotation: QueuedAnnotation?) -> Rendition {
        guard !chain.isEmpty else { return .stored }
        var stored = JSONWriter()
        entry.event.write(into: &stored, attempt: entry.attempts + 1, annotation: annotation)
        guard let members = stored.bytes.withUnsafeBytes(surroundings.transformations.readObject) else {
            surroundings.board.counters.transformationErrors += 1
            return .stored
        }
        let result = chain.transform(EventDocument(members: members), dispatcher: dispatcherId)
        surroundings.board.counters.transformationErrors += result.errors
        guard let event = result.event else { return .nothing }
        return event.isTouched ? .transformed(event.json) : .stored
    }
}

extension EventDocument {
    /// The event as it is delivered.
    fileprivate var json: [UInt8] {
        var writer = JSONWriter()
        writer.object(members)
        return writer.bytes
    }
}
