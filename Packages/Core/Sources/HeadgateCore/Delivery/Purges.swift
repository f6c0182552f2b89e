/// The purges of a dispatcher's queue that are under way: it is read on, and what comes in hand goes. So a purge takes no more
/// memory or time of a turn than sending does, whatever waits, and each event is counted and settled as always (Behaviour
/// P1). Pure.
struct Purges {
    typealias Number = Int

    /// A purge, from the moment that somebody asked for it.
    private struct Purge {
        let number: Number
        /// The newest event that goes.
        let through: SequenceNumber
        /// What was on its way at that moment. It stays, also when it comes back.
        let spared: SequenceSet
        /// Events that are gone.
        var count = 0

        func events(in queue: DispatcherQueue) -> SequenceSet {
            SequenceSet(queue.waiting(through: through).lazy.filter { !spared.contains($0) })
        }
    }

    private var all: [Purge] = []
    private var lastNumber: Number = 0

    var isEmpty: Bool { all.isEmpty }

    /// Begins to drop what waits in a queue, up to and including an event, but not what is on its way.
    mutating func begin(through newest: SequenceNumber, in queue: DispatcherQueue) -> Number {
        lastNumber += 1
        all.append(Purge(number: lastNumber, through: newest, spared: queue.inFlight))
        return lastNumber
    }

    /// What goes next of what is in hand, which is counted; empty when nothing does.
    mutating func take(from queue: DispatcherQueue) -> SequenceSet {
        for index in all.indices {
            let events = all[index].events(in: queue)
            guard !events.isEmpty else { continue }
            all[index].count += events.count
            return events
        }
        return SequenceSet()
    }

    /// Ends those that have nothing left to read.
    mutating func endOver(in queue: DispatcherQueue, unread: Int) -> [DeliveryOrder] {
        let isOver = { (purge: Purge) in
            (unread == 0 || queue.readPosition >= purge.through) && purge.events(in: queue).isEmpty
        }
        let over = all.filter(isOver)
        all.removeAll(where: isOver)
        return over.map { .endPurge($0.number, PurgeEnd(count: $0.count, isComplete: true)) }
    }

    /// Ends all where they are.
    mutating func abandon() -> [DeliveryOrder] {
        defer { all = [] }
        return all.map { .endPurge($0.number, PurgeEnd(count: $0.count, isComplete: false)) }
    }
}

/// How a purge ended.
struct PurgeEnd: Equatable {
    /// Events that are gone.
    var count: Int
    /// False if the dispatcher was removed before all of them were.
    var isComplete: Bool
}
