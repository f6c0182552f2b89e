/// What is given up because the store is full, or because it has become too old.
extension Headgate {
    /// Evicts the oldest events that are not in flight until the store is within its limits (Behaviour Q4, D12).
    func makeRoom() {
        guard events.limits.overflow == .dropOldest, events.limits.excess(of: events.backlog.live) else { return }
        for dispatcher in dispatchers.values { dispatcher.freshen() }
        while events.limits.excess(of: events.backlog.live), evictOldest() {}
    }

    /// - Returns: false when there is none to evict, or it is not known yet which is the oldest: a dispatcher reads on,
    ///   and looks again when it has.
    private func evictOldest() -> Bool {
        guard !dispatchers.values.contains(where: \.isFrontUnread) else { return false }
        let oldest = dispatchers.values.compactMap { $0.queue.firstWaiting?.sequenceNumber }.min()
        if let orphan = orphanFarthestBehind, orphan.position < oldest ?? .max {
            board.counters.evicted += events.backlog.unsettled(of: orphan.number).events
            forget(orphan)
            return true
        }
        guard let oldest else { return false }
        for dispatcher in dispatchers.values where dispatcher.queue.firstWaiting?.sequenceNumber == oldest {
            dispatcher.evict(oldest)
            markDirty(dispatcher.id)
        }
        return true
    }

    /// The removed dispatcher with the oldest queue. Nobody reads that queue: to make room it is given up whole.
    private var orphanFarthestBehind: StoredDispatcher? {
        orphansWithEvents.min { $0.position < $1.position }
    }

    /// Removed dispatchers that have something left.
    var orphansWithEvents: [StoredDispatcher] {
        orphans.filter { events.backlog.unsettled(of: $0.number).events > 0 }
    }

    /// Dispatchers that are gone, and have nothing on its way any more.
    private var orphans: [StoredDispatcher] {
        known.values.filter { dispatchers[$0.id] == nil && leaving[$0.id] == nil }
    }

    /// Gives up the queues of dispatchers that have been gone for too long (Behaviour Q3).
    func forgetOrphans() {
        let oldest = events.presentStamp() - events.limits.orphanRetention.wholeMilliseconds
        for orphan in orphans where orphan.orphanedSince.map({ $0 <= oldest }) ?? false {
            board.counters.expired += events.backlog.unsettled(of: orphan.number).events
            forget(orphan)
        }
    }

    private func forget(_ orphan: StoredDispatcher) {
        events.backlog.remove(orphan.number)
        known[orphan.id] = nil
        settlements.add(.forgetDispatcher(orphan.number))
    }

    /// Looks again when the next event in hand becomes too old, when the backlog is to be looked through, and once a
    /// minute for the rest.
    func scheduleSweep() {
        sweepWhenDue()
        // Counted from the last time: a gate that is always busy would put it off for ever.
        let latest = isSweeping || oldestUnread == nil ? nextChores : min(nextChores, nextPass)
        let next = dispatchers.values.compactMap(\.nextExpiry).min().map { min($0, latest) } ?? latest
        sweep?.dispose()
        sweep = stopping != nil ? nil : worker.schedule(at: next) { [weak self] in self?.sweepOnce() }
    }

    private func sweepOnce() {
        if worker.now >= nextChores {
            nextChores = worker.now + .seconds(60)
            forgetOrphans()
            settlements.add(events.forgetOldIDs())
            keepClock(isDue: true)
        }
        // Who looks at the end of the turn sets the next sweep. Set before, it would be due at once while what is too old
        // is still there: a timer that starts itself again lets nothing else run.
        dispatchers.keys.forEach(markDirty)
        if dispatchers.isEmpty { scheduleSweep() }
    }

    /// Up to which event nobody needs anything: where the dispatcher stands that is farthest behind.
    func trim() -> SequenceNumber {
        let positions = known.values.compactMap { dispatcher in
            events.backlog.unsettled(of: dispatcher.number).events == 0
                ? nil : (dispatchers[dispatcher.id] ?? leaving[dispatcher.id])?.queue.position ?? dispatcher.position
        }
        let point = positions.min() ?? events.lastStored
        events.trimRecent(through: point)
        return point
    }

    /// Keeps where the age scale stands beside the clocks, so that the next start goes on from there (Behaviour P7): at the
    /// start, once a minute, at an orderly stop, and when the wall clock has jumped, before anything else is done. Else a
    /// clock that was set right would seem to have let that time pass while the machine was off.
    func keepClock(isDue: Bool) {
        let pair = events.clockPair()
        guard isDue || pair.isApart(from: keptClock) else { return }
        keptClock = pair
        settlements.add(.keep(ClockPair.name, pair.kept))
    }
}
