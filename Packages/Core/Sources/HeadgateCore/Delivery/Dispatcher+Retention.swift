extension Dispatcher {
    /// Lets go of the events in hand that are too old, by the store's limit or their own time to live
    /// (Behaviour Q4, D12). Those in flight are left.
    /// - Returns: whether there were any.
    func expireInHand() -> Bool {
        !expire { !$0.isInFlight }.isEmpty
    }

    /// Lets go of the events of a batch on its way that are too old for it to go out once more.
    /// - Returns: the batch as it is from now on; nil when it is not on its way.
    func expireInFlight(_ number: Int) -> Batch? {
        guard let batch = inFlight[number] else { return nil }
        let sequenceNumbers = batch.sequenceNumbers
        let expired = expire { sequenceNumbers.contains($0.sequenceNumber) }
        guard !expired.isEmpty else { return batch }
        let rest = batch.without(expired)
        inFlight[number] = rest
        return rest
    }

    private func expire(_ isMeant: (QueueEntry) -> Bool) -> SequenceSet {
        let (limit, sweep) = (surroundings.events.ageLimit, surroundings.events.sweep)
        let old = queue.entries.filter { entry in
            isMeant(entry) && (limit.isExceeded(by: entry.event) || sweep.hasPassed(entry.event))
        }
        let sequenceNumbers = SequenceSet(old.map(\.sequenceNumber))
        settle(sequenceNumbers, as: .expired)
        return sequenceNumbers
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
        let (ages, maxAge) = (surroundings.events.ages, surroundings.events.limits.maxAge.wholeMilliseconds)
        let ends = queue.entries.lazy.filter { !$0.isInFlight }.map { entry in
            let byAge = entry.event.receivedStamp + maxAge
            let expiry = entry.event.header.expiryStamp
            return expiry == 0 ? byAge : min(byAge, expiry)
        }
        return ends.min().map(ages.instant)
    }

    /// Whether the oldest event that waits is not in hand yet.
    var isFrontUnread: Bool { pending > 0 && queue.firstWaiting == nil }

    /// Gives up the front event to make room (Behaviour Q4, `drop_oldest`).
    func evict(_ sequenceNumber: SequenceNumber) {
        settle(SequenceSet([sequenceNumber]), as: .evicted)
        prepare(1)
    }
}
