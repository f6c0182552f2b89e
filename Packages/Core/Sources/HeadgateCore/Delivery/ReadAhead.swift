/// Has a dispatcher's events in hand before they are needed: from what is in memory, and where that does not reach from the
/// store, which is asked for one stretch at a time, and left alone for a while when it could not read. Pure.
struct ReadAhead {
    private var state = State.idle

    private enum State {
        case idle
        /// Asked for what is behind the read position, when this was the newest event.
        case asked(newest: SequenceNumber)
        /// The store could not read, and is left alone for a while.
        case resting
    }

    /// What came of what the store was asked for.
    enum Outcome: Equatable {
        /// Nothing: it was not asked.
        case unasked
        /// The queue can go on.
        case read
        /// It could not read. ``rested()`` is to be told once a wait is over.
        case failed(StoreFault)
    }

    /// Has `count` events wait in hand, or so many bytes of them, or all there are.
    /// - Returns: whether they do; if not they have to be read from the store first.
    mutating func prepare(
        _ count: Int, bytes: Int = .max, in queue: inout DispatcherQueue, from source: some EventSource
    ) -> (isReady: Bool, orders: [DeliveryOrder]) {
        let found = queue.prepare(count, bytes: bytes, from: source)
        // What the sweeper settled is now behind the position: that must not lag behind what the store may delete.
        var orders: [DeliveryOrder] = found.hasPassedOver ? [.writeSettled] : []
        if !found.found.isEmpty { orders.append(.countFound(found.found)) }
        switch found.end {
        case .ready: return (true, orders)
        case .lost(let count): return (true, orders + [.countLost(count)])
        case .unread(let position):
            guard case .idle = state else { return (false, orders) }
            state = .asked(newest: source.lastStored)
            return (false, orders + [.readStore(after: position)])
        }
    }

    /// The store gave what was asked for; nil when it has nothing there. One that cannot read now is asked again after a
    /// wait, and not at every look.
    mutating func answered(_ result: Result<Chunk?, StoreFault>, into queue: inout DispatcherQueue) -> Outcome {
        guard case .asked(let newest) = state else { return .unasked }
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

    /// Ends the wait after which the store may be asked again.
    mutating func rested() {
        if case .resting = state { state = .idle }
    }
}
