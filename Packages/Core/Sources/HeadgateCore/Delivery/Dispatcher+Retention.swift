extension Dispatcher {
    /// Lets go of the events in hand that are too old, by the store's limit or their own time to live
    /// (Behaviour Q4, D12). Those in flight are left.
    /// - Returns: whether there were any.
    func expireInHand() -> Bool {
        let old = queue.entries.lazy.filter { !$0.isInFlight && self.isTooOld($0.event) }
        let sequenceNumbers = Set(old.map(\.sequenceNumber))
        settle(sequenceNumbers, as: .expired)
        return !sequenceNumbers.isEmpty
    }

    /// Whether an event is of no more use.
    func isTooOld(_ event: StoredEvent) -> Bool {
        let now = surroundings.events.ages.stamp(surroundings.worker.now)
        let oldest = now - surroundings.events.limits.maxAge.wholeMilliseconds
        return event.receivedStamp <= oldest || event.isExpired(at: now)
    }

    /// When the front event becomes too old; nil while nothing waits.
    var nextExpiry: Instant? {
        guard let event = queue.firstWaiting?.event else { return nil }
        let byAge = event.receivedStamp + surroundings.events.limits.maxAge.wholeMilliseconds
        let end = event.header.expiryStamp == 0 ? byAge : min(byAge, event.header.expiryStamp)
        return surroundings.events.ages.instant(of: end)
    }

    /// Whether the oldest event that waits is not in hand yet.
    var isFrontUnread: Bool { pending > 0 && queue.firstWaiting == nil }

    /// Gives up the front event to make room (Behaviour Q4, `drop_oldest`).
    func evict(_ sequenceNumber: SequenceNumber) {
        settle([sequenceNumber], as: .evicted)
        prepare(1)
    }
}
