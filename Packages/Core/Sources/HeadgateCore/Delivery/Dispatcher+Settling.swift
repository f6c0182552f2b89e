extension Dispatcher {
    /// How an event's way ends.
    enum End {
        case delivered
        case dead
        case expired
        case evicted
        /// Dropped by a transformation, as somebody wanted (Behaviour P4).
        case transformedAway
    }

    /// Lets go of events for good, and counts them.
    func settle(_ sequenceNumbers: Set<SequenceNumber>, as end: End) {
        settled(queue.remove(sequenceNumbers).map(\.event), as: end)
    }

    /// Events that are in hand no more, or never were, are done with.
    func settled(_ events: [StoredEvent], as end: End) {
        guard !events.isEmpty else { return }
        for (route, events) in Dictionary(grouping: events, by: \.route) {
            let tally = events.reduce(Tally.zero) { $0 + $1.tally }
            surroundings.events.backlog.settle(tally, route: route, dispatcher: queue.number)
        }
        surroundings.board.counters[keyPath: end.counter] += events.count
        if let place = end.tally { tally[keyPath: place] += events.count }
        // With nothing left to read, all that was read over is settled too.
        if unread == 0 { queue.skip(to: surroundings.events.lastStored) }
        surroundings.settlements.settled(queue.number, queue.settled)
        tellFlushes(events.map(\.sequenceNumber), end)
    }

    private func tellFlushes(_ sequenceNumbers: [SequenceNumber], _ end: End) {
        let (flushes, position) = (surroundings.flushes, queue.position)
        switch end {
        case .delivered: flushes.settled(sequenceNumbers, of: id, sent: true, position: position)
        case .dead, .expired, .evicted: flushes.settled(sequenceNumbers, of: id, sent: false, position: position)
        case .transformedAway: flushes.dropped(sequenceNumbers, of: id, position: position)
        }
    }
}

extension Dispatcher.End {
    /// Where it is counted for all dispatchers together.
    fileprivate var counter: WritableKeyPath<Counters, Int> {
        switch self {
        case .delivered: \.delivered
        case .dead: \.dead
        case .expired: \.expired
        case .evicted: \.evicted
        case .transformedAway: \.transformedAway
        }
    }

    /// Where it is counted for the dispatcher.
    fileprivate var tally: WritableKeyPath<DispatcherTally, Int>? {
        switch self {
        case .delivered: \.sent
        case .dead: \.dead
        case .expired: \.expired
        case .evicted: \.evicted
        case .transformedAway: nil
        }
    }
}
