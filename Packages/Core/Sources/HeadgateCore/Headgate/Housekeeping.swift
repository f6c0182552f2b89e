/// Periodic work: dropping events that have become too old (Behaviour Q4), forgetting old ids and the queues of removed
/// dispatchers, and saving the clocks.
///
/// The sweeper reads the whole backlog, also behind closed barriers. It reads a limited part at a time and pauses after
/// each.
final class Housekeeping {
    private let dispatchers: Dispatchers
    private let events: EventQueue
    private let settlements: Settlements
    private let clock: ClockRecorder
    private let counts: EventCounts
    private let trace: EventTrace
    @exclusivity(unchecked) private var timer: (handle: any Disposable, due: Instant)?
    /// The next time at which orphans and ids are checked.
    @exclusivity(unchecked) private var nextHousekeeping: Instant
    @exclusivity(unchecked) private var pass: Pass

    /// The state of the passes over the backlog.
    private enum Pass {
        /// A pass has been running since this time. Next: `resting`, after the last range or a failed read; `ended`.
        case running(since: Instant)
        /// The next pass begins at this time, if there are unread events then. Next: `running`; `ended`.
        case resting(until: Instant)
        /// An orderly stop is running: no pass begins, and the one under way reads no further range. The last state.
        case ended
    }

    private static let restBetweenSteps = Duration.milliseconds(5)
    private static let leastRest = Duration.seconds(10)
    /// The pause after a pass as a multiple of its duration.
    private static let pauseFactor = 20
    /// The upper limit of the pause: a pass that was slow because the disk hung does not predict the next.
    private static let mostRest = Duration.seconds(300)
    /// The longest interval of the housekeeping.
    private static let housekeepingInterval = Duration.seconds(60)

    init(
        dispatchers: Dispatchers, events: EventQueue, settlements: Settlements, clock: ClockRecorder,
        counts: EventCounts, trace: EventTrace
    ) {
        self.dispatchers = dispatchers
        self.events = events
        self.settlements = settlements
        self.clock = clock
        self.counts = counts
        self.trace = trace
        nextHousekeeping = events.scheduler.now + Housekeeping.housekeepingInterval(events.limits)
        pass = .resting(until: events.scheduler.now)
    }

    /// Schedules the next check: when a buffered event becomes too old, when a pass is due, and once a minute for the
    /// other work.
    func schedule() {
        beginPassWhenDue()
        let next = nextEvaluation
        guard timer?.due != next else { return }
        timer?.handle.dispose()
        timer = next.map { next in (events.scheduler.schedule(at: next) { [weak self] in self?.check() }, next) }
    }

    /// Stops all periodic work, because an orderly stop is running.
    func end() {
        pass = .ended
    }

    private var nextEvaluation: Instant? {
        if case .ended = pass { return nil }
        // The interval counts from the last check, so that a busy gate cannot postpone the work for ever.
        var next = nextHousekeeping
        if case .resting(let end) = pass, dispatchers.hasUnread { next = min(next, end) }
        return dispatchers.nextExpiry.map { min($0, next) } ?? next
    }

    /// Returns the interval of the housekeeping: a quarter of the age up to which events are retained, from a second to a
    /// minute (Behaviour R1).
    private static func housekeepingInterval(_ limits: StoreLimits) -> Duration {
        guard let age = limits.retain?.maxAge else { return housekeepingInterval }
        return max(.seconds(1), min(age / 4, housekeepingInterval))
    }

    private func check() {
        timer = nil
        if events.scheduler.now >= nextHousekeeping {
            nextHousekeeping = events.scheduler.now + Housekeeping.housekeepingInterval(events.limits)
            dispatchers.forgetOrphans()
            settlements.add(events.forgetOldIDs())
            if let change = events.retentionChange { settlements.add(change) }
            clock.keep()
        }
        // The evaluation at the end of the turn schedules the next sweep. If it were scheduled here, it would be due at
        // once while expired events still exist. A timer that restarts itself leaves no time for other work.
        dispatchers.evaluateAll()
        if dispatchers.present.isEmpty { schedule() }
    }

    // MARK: Sweeping

    /// Begins a pass if one is due. Dispatchers check the events in their buffers themselves.
    private func beginPassWhenDue() {
        guard case .resting(let end) = pass, events.scheduler.now >= end,
            let oldest = dispatchers.oldestUnread
        else { return }
        pass = .running(since: events.scheduler.now)
        events.sweep.begin(events.ageLimit, behind: oldest, through: events.lastStored)
        sweepOn()
    }

    private func sweepOn() {
        guard case .running = pass, let range = events.sweep.next else { return rest() }
        events.store.readAged(range) { [weak self] in self?.swept(range, $0) }
    }

    /// Processes a part of the backlog. After a failed read the pass continues later from the same position.
    private func swept(_ range: AgedRange, _ result: Result<Chunk?, StoreFault>) {
        guard case .success(let chunk) = result else { return rest() }
        let scheduler = events.scheduler
        guard !dispatchers.isBeingRewound else {
            // During a rewind nothing may settle an event. The same range is read again later.
            _ = scheduler.schedule(at: scheduler.now + Housekeeping.restBetweenSteps) { [weak self] in
                self?.sweepOn()
            }
            return
        }
        if let chunk { expireAged(in: chunk) }
        events.sweep.advance(through: chunk?.lastSequenceNumber ?? range.through, isEmpty: chunk == nil)
        _ = scheduler.schedule(at: scheduler.now + Housekeeping.restBetweenSteps) { [weak self] in self?.sweepOn() }
    }

    private func rest() {
        guard case .running(let start) = pass else { return }
        let now = events.scheduler.now
        let rest = (now - start) * Housekeeping.pauseFactor
        pass = .resting(until: now + min(max(Housekeeping.leastRest, rest), Housekeeping.mostRest))
        schedule()
    }

    /// Expires the too old events of a chunk for the dispatchers that have not read them.
    private func expireAged(in chunk: Chunk) {
        var old: [DispatcherNumber: [StoredEvent]] = [:]
        let holders = Dictionary(dispatchers.all.map { ($0.number, $0) }) { first, _ in first }
        let orphans = Dictionary(dispatchers.orphansWithEvents.map { ($0.number, $0) }) { first, _ in first }
        for event in chunk where events.sweep.isDue(event) {
            for number in events.routes.dispatchers(of: event.route) {
                let queue = holders[number]?.queue ?? orphans[number].map(dispatchers.queue)
                guard let queue, queue.isUnread(event.sequenceNumber), queue.isSwept(event.sequenceNumber) else {
                    continue
                }
                old[number, default: []].append(event)
            }
        }
        for (number, events) in old {
            if let dispatcher = holders[number] { dispatcher.expireUnread(events) } else { expire(events, of: number) }
        }
    }

    /// Settles expired events of a removed dispatcher.
    private func expire(_ old: [StoredEvent], of orphan: DispatcherNumber) {
        for event in old { events.backlog.settle(event.tally, route: event.route, dispatcher: orphan) }
        counts.count(.expired, old.count)
        counts.report(EventLoss(.expired, of: dispatchers.known.id(of: orphan) ?? "\(orphan)", events: old.count))
        trace.expiredEarlier(old, of: orphan, at: events.scheduler.wall)
        trace.settled(old.map { SettledEvent($0, sends: 0) }, by: orphan, as: .expired, at: events.scheduler.wall)
    }
}
