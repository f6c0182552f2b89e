/// What operators do with what waits for a dispatcher.
extension Headgate {
    /// Looks at the next events that a dispatcher would send, in their order, and takes none.
    /// - Parameters:
    ///   - after: only what comes behind this one, as ``QueuePage/next`` tells.
    ///   - limit: the most events, at least one; there may be fewer where they are large.
    /// - Returns: false when there is no such dispatcher; `then` is not called.
    public func peek(
        at id: String, after: SequenceNumber = 0, limit: Int, then: @escaping (Result<QueuePage, StoreFault>) -> Void
    ) -> Bool {
        guard let dispatcher = dispatchers[id] else { return false }
        QueuePeek(at: dispatcher, in: events, after: after, limit: limit, then: then).begin()
        return true
    }

    /// Drops what waits for a dispatcher now, and counts it as evicted. What is on its way stays, and so does what comes
    /// later.
    /// - Parameters:
    ///   - sequenceNumber: only what comes before this one; nil is all.
    ///   - then: gets how many events there were, once that survives a restart.
    /// - Returns: false when there is no such dispatcher; `then` is not called.
    public func purge(
        _ id: String, before sequenceNumber: SequenceNumber? = nil, then: @escaping (Result<Int, StoreFault>) -> Void
    ) -> Bool {
        guard dispatchers[id] != nil else { return false }
        let newest = events.lastSequenceNumber
        let through = sequenceNumber.map { min($0 - 1, newest) } ?? newest
        // What was offered before, and is being stored, goes as well.
        events.whenCommitted { [weak self] _ in
            guard let self, let dispatcher = self.dispatchers[id] else { return then(.success(0)) }
            dispatcher.purge(through: through) { [settlements] count in
                settlements.whenWritten { fault in then(fault.map { .failure($0) } ?? .success(count)) }
            }
        }
        return true
    }
}
