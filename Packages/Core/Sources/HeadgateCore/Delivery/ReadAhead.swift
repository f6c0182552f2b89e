/// The reading ahead of a dispatcher: it buffers events before they are needed, from memory, or else from the store.
/// The store gets one read at a time, and none for a while after a failure. Pure.
struct ReadAhead {
    private var state = State.idle

    /// The state of the store's reads. An answer in another state than `requested`, and the end of a wait in another state
    /// than `resting`, are late and change nothing.
    private enum State {
        /// No read is running. Next: `requested`, when a caller needs events that are not in memory.
        case idle
        /// A read of the events after the read position is running. `newest` was the newest event when it began. Next:
        /// `idle` after an answer, `resting` after a failure.
        case requested(newest: SequenceNumber)
        /// A read failed. The store is not asked again for a while. Next: `idle`, after the wait.
        case resting
    }

    /// True while a read is running.
    var isReading: Bool { if case .requested = state { true } else { false } }

    /// The meaning of a store's answer.
    enum Outcome: Equatable {
        /// No read was running. The answer is ignored.
        case unrequested
        /// The queue can continue.
        case read
        /// The read failed. The caller calls ``rested()`` after a wait.
        case failed(StoreFault)
    }

    /// Buffers `count` pending events, or `bytes` of them, or all there are.
    /// - Returns: `isReady` is false if the events have to be read from the store first.
    mutating func prepare(
        _ count: Int, bytes: Int = .max, in queue: inout DispatcherQueue, from source: some EventSource
    ) -> (isReady: Bool, orders: [DeliveryOrder]) {
        let found = queue.prepare(count, bytes: bytes, from: source)
        // Events that the sweeper settled are now before the position, which must be written before the store may
        // delete them.
        var orders: [DeliveryOrder] = found.hasSkipped ? [.writeSettled] : []
        if !found.found.isEmpty { orders.append(.countFound(found.found)) }
        switch found.end {
        case .ready: return (true, orders)
        case .lost(let count): return (true, orders + [.countLost(count)])
        case .unread(let position):
            guard case .idle = state else { return (false, orders) }
            state = .requested(newest: source.lastStored)
            return (false, orders + [.readStore(after: position)])
        }
    }

    /// Processes the answer of the store; the chunk is nil if there are no more events. After a failure the store is
    /// asked again when a wait is over, not at every evaluation.
    mutating func answered(_ result: Result<Chunk?, StoreFault>, into queue: inout DispatcherQueue) -> Outcome {
        guard case .requested(let newest) = state else { return .unrequested }
        state = .idle
        switch result {
        case .success(let chunk?): queue.load(chunk)
        case .success(nil): queue.skip(to: newest)
        case .failure(let fault):
            state = .resting
            return .failed(fault)
        }
        return .read
    }

    /// Ends the wait after a failure, so that the store may be asked again.
    mutating func rested() {
        if case .resting = state { state = .idle }
    }
}
