import HeadgateData

/// The records of what happens to the events of dispatchers: counts, traces, dead letters, flushes, and the settlements
/// that are written to the store.
struct OutcomeRecords {
    let events: EventQueue
    let settlements: Settlements
    let deadLetters: DeadLetterTotals
    let counts: EventCounts
    let trace: EventTrace
    let flushes: Flushes

    private var wall: Timestamp { events.scheduler.wall }

    // MARK: Settled events

    /// Counts and traces events that a dispatcher has settled.
    func settled(
        _ settled: [SettledEvent], by dispatcher: DispatcherNumber, _ id: String, as end: DeliveryOutcome
    ) {
        trace.settled(settled, by: dispatcher, as: end, at: wall)
        countOff(settled, by: dispatcher)
        counts.count(end.counter, settled.count)
        if let loss = end.loss { counts.report(EventLoss(loss, of: id, events: settled.count)) }
    }

    /// Counts events as settled in the backlog, and nowhere else.
    func countOff(_ settled: [SettledEvent], by dispatcher: DispatcherNumber) {
        var tallies = RouteTallies()
        for event in settled { tallies.add(event.tally, route: event.route) }
        for (route, tally) in tallies { events.backlog.settle(tally, route: route, dispatcher: dispatcher) }
    }

    /// Returns true if some events may be of those that an earlier daemon received.
    func hasEarlier(in sequenceNumbers: SequenceSet) -> Bool {
        guard let first = sequenceNumbers.ranges.first?.lowerBound,
            let last = sequenceNumbers.ranges.last?.upperBound
        else { return false }
        return trace.hasEarlier(in: first...last)
    }

    /// Records the outcome of events that an earlier daemon received (Behaviour O2).
    func traceEarlier(_ entries: [QueueEntry], by dispatcher: DispatcherNumber, as end: DeliveryOutcome) {
        let wall = wall
        for entry in entries where trace.isEarlier(entry.sequenceNumber) {
            trace.settledEarlier(entry.event, sends: entry.progress.sends, by: dispatcher, as: end, at: wall)
        }
    }

    /// Notifies the flushes that cover settled events.
    /// - Parameters:
    ///   - replayed: further settled events, which a rewind had made pending again.
    ///   - position: all events of the dispatcher up to this one are settled.
    func notifyFlushes(
        of id: String, _ sequenceNumbers: some Collection<SequenceNumber>, replayed: [SequenceNumber],
        as end: DeliveryOutcome, position: SequenceNumber
    ) {
        switch end {
        case .delivered: flushes.settled(sequenceNumbers, replayed: replayed, of: id, sent: true, position: position)
        case .dead, .expired, .evicted, .purged, .erased:
            flushes.settled(sequenceNumbers, replayed: replayed, of: id, sent: false, position: position)
        case .transformedAway: flushes.dropped(sequenceNumbers, replayed: replayed, of: id, position: position)
        }
    }

    // MARK: Damaged stores

    /// Counts the lost events of a damaged store as quarantined (Behaviour Q8).
    /// - Parameter entries: the events that the dispatcher still has.
    func lost(_ count: Int, of dispatcher: DispatcherNumber, _ id: String, keeping entries: [QueueEntry]) {
        events.backlog.keep(entries, of: dispatcher)
        counts.count(.quarantined, count)
        counts.report(EventLoss(.quarantined, of: id, events: count))
    }

    /// Adds events to the backlog that a damaged store has and did not count.
    func found(_ tallies: RouteTallies, of dispatcher: DispatcherNumber) {
        for (route, tally) in tallies { events.backlog.add(tally, route: route, dispatchers: [dispatcher]) }
    }

    // MARK: Dead letters

    /// Stores dead letters of events that failed together, for the same reason.
    func keep(_ dead: [DeadLetter], of id: String, cause: String?) {
        deadLetters.keep(dead)
        guard let first = dead.first else { return }
        counts.report(
            EventLoss(
                .dead(first.reason), of: id, events: dead.count, cause: cause,
                firstID: first.event.map { String($0.id.withoutQuotes) }))
    }
}
