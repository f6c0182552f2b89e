extension Dispatcher {
    /// Lets go of the events in hand that are too old, by the store's limit or their own time to live
    /// (Behaviour Q4, D12). Those in flight are left.
    /// - Returns: whether there were any.
    func expireInHand() -> Bool {
        let old = queue.due(at: surroundings.events.ageLimit.endedBy, maxAge: maxAge)
        settle(old, as: .expired)
        return !old.isEmpty
    }

    /// The same for all in hand, and for what the sweeper takes for settled: nobody will look after them.
    func expireAllInHand() {
        let old = queue.entries.filter { !$0.isInFlight && isTooOld($0.event) }
        settle(SequenceSet(old.map(\.sequenceNumber)), as: .expired)
    }

    private var maxAge: Int64 { surroundings.events.limits.maxAge.wholeMilliseconds }

    /// Lets go of the events of a batch on its way that are too old for it to go out once more.
    /// - Returns: the batch as it is from now on; nil when it is not on its way.
    func expireInFlight(_ number: Int) -> Batch? {
        guard let batch = inFlight[number] else { return nil }
        let old = queue.entries(of: batch.sequenceNumbers).filter { isTooOld($0.event) }
        let expired = SequenceSet(old.map(\.sequenceNumber))
        settle(expired, as: .expired)
        guard !expired.isEmpty else { return batch }
        let rest = batch.without(expired)
        inFlight[number] = rest
        return rest
    }

    /// Whether an event is of no more use.
    func isTooOld(_ event: StoredEvent) -> Bool {
        // Who returns later reads on behind what the sweeper has passed: so that counts here as well.
        surroundings.events.ageLimit.isExceeded(by: event) || surroundings.events.sweep.hasPassed(event)
    }

    /// The sweeper has found events too old that were not in hand (Behaviour Q4).
    func expireUnread(_ events: [StoredEvent]) {
        settled(events, as: .expired)
        surroundings.markDirty(id)
    }

    /// When the next of the events that wait in hand becomes too old; nil while none waits.
    var soonestExpiry: Instant? {
        queue.firstEnd(maxAge: maxAge).map(surroundings.events.ages.instant)
    }

    /// Whether the oldest event that waits is not in hand yet.
    var isFrontUnread: Bool { pending > 0 && queue.firstWaiting == nil }

    /// Gives up the front event to make room (Behaviour Q4, `drop_oldest`).
    func evict(_ sequenceNumber: SequenceNumber) {
        settle(SequenceSet([sequenceNumber]), as: .evicted)
        prepare(1)
    }
}
