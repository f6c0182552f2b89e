/// The running purges of a dispatcher's queue (Behaviour P1). Pure.
///
/// A purge reads the queue and drops the events in the buffer step by step. It therefore takes no more memory, and no
/// more time per turn, than sending, whatever the backlog. Each event is counted and settled as usual.
struct Purges {
    typealias Number = Int

    /// A purge that an operator has requested.
    private struct Purge {
        let number: Number
        /// The newest event to drop.
        let through: SequenceNumber
        /// The events that were in flight at the time of the request. They are kept, even if they become pending again.
        let spared: SequenceSet
        /// The number of dropped events.
        var count = 0

        func events(in queue: DispatcherQueue) -> SequenceSet {
            SequenceSet(queue.waiting(through: through).lazy.filter { !spared.contains($0) })
        }
    }

    private var all: [Purge] = []
    private var lastNumber: Number = 0

    var isEmpty: Bool { all.isEmpty }

    /// Begins to drop the pending events of a queue up to `newest`. Events in flight are kept.
    mutating func begin(through newest: SequenceNumber, in queue: DispatcherQueue) -> Number {
        lastNumber += 1
        all.append(Purge(number: lastNumber, through: newest, spared: queue.inFlight))
        return lastNumber
    }

    /// Returns the buffered events to drop next, and counts them. The result is empty if there are none.
    mutating func take(from queue: DispatcherQueue) -> SequenceSet {
        for index in all.indices {
            let events = all[index].events(in: queue)
            guard !events.isEmpty else { continue }
            all[index].count += events.count
            return events
        }
        return SequenceSet()
    }

    /// Ends the purges that have nothing left to read or drop.
    mutating func endOver(in queue: DispatcherQueue, unread: Int) -> [DeliveryOrder] {
        let isOver = { (purge: Purge) in
            (unread == 0 || queue.readPosition >= purge.through) && purge.events(in: queue).isEmpty
        }
        let over = all.filter(isOver)
        all.removeAll(where: isOver)
        return over.map { .endPurge($0.number, PurgeOutcome(count: $0.count, isComplete: true)) }
    }

    /// Ends all purges early.
    mutating func cancel() -> [DeliveryOrder] {
        defer { all = [] }
        return all.map { .endPurge($0.number, PurgeOutcome(count: $0.count, isComplete: false)) }
    }
}

/// The result of a purge.
struct PurgeOutcome: Equatable {
    /// The number of dropped events.
    var count: Int
    /// False if the dispatcher was removed before all events were dropped.
    var isComplete: Bool
}
