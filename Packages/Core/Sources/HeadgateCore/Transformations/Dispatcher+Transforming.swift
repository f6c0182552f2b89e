import HeadgateData

extension Dispatcher {
    /// Adds an event to a batch as it is to go out, or to the dropped ones.
    /// - Returns: whether others may follow.
    func add(
        _ entry: QueueEntry, _ annotation: QueuedAnnotation?, transformedBy chain: TransformationChain,
        to builder: inout BatchBuilder, droppingTo dropped: inout SequenceSet
    ) -> Bool {
        switch rendition(of: entry, annotation, chain) {
        case .stored: return builder.add(entry, annotation: annotation)
        case .transformed(let json): return builder.add(entry, annotation: annotation, transformed: json)
        case .nothing:
            dropped.append(entry.sequenceNumber)
            return true
        }
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
    private func rendition(
        of entry: QueueEntry, _ annotation: QueuedAnnotation?, _ chain: TransformationChain
    ) -> Rendition {
        guard !chain.isEmpty else { return .stored }
        var stored = JSONWriter()
        entry.event.write(into: &stored, attempt: entry.attempts + 1, annotation: annotation)
        guard let members = stored.bytes.withUnsafeBytes(surroundings.transformations.readObject) else {
            surroundings.board.counters.transformationErrors += 1
            return .stored
        }
        let result = chain.transform(EventDocument(members: members), dispatcher: id)
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
