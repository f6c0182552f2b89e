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
    func settle(_ sequenceNumbers: SequenceSet, as end: End) {
        settled(queue.remove(sequenceNumbers).lazy.map(\.event), as: end)
    }

    /// Events that are in hand no more, or never were, are done with.
    func settled(_ events: some Collection<StoredEvent>, as end: End) {
        guard !events.isEmpty else { return }
        var tallies = RouteTallies()
        for event in events { tallies.add(event.tally, route: event.route) }
        for (route, tally) in tallies.byRoute {
            surroundings.events.backlog.settle(tally, route: route, dispatcher: queue.number)
        }
        surroundings.board.counters[keyPath: end.counter] += events.count
        if let place = end.tally { tally[keyPath: place] += events.count }
        // With nothing left to read, all that was read over is settled too.
        if unread == 0 { queue.skip(to: surroundings.events.lastStored) }
        writeSettled()
        tellFlushes(events.lazy.map(\.sequenceNumber), end)
    }

    /// Has what is settled written down; how much that is by then, the queue tells when it is written.
    func writeSettled() {
        surroundings.settlements.settled(queue.number) { [weak self] in self?.queue.settled }
    }

    private func tellFlushes(_ sequenceNumbers: some Collection<SequenceNumber>, _ end: End) {
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
