/// What has to be done now and then: events that have become too old are let go of, wherever they wait (Behaviour Q4), ids
/// beyond the window and queues that nobody wants are forgotten, and the clocks are written down.
///
/// The sweeper looks through all that waits, however deep in a backlog that is held. It reads no more than a piece at a
/// time, and rests between two.
final class Housekeeping {
    private let dispatchers: Dispatchers
    private let events: EventQueue
    private let settlements: Settlements
    private let clock: ClockKeeper
    private let counts: EventCounts
    private let trace: EventTrace
    @exclusivity(unchecked) private var alarm: (rings: any Disposable, at: Instant)?
    /// When orphans and ids are looked at next.
    @exclusivity(unchecked) private var nextChores: Instant
    @exclusivity(unchecked) private var pass: Pass
    @exclusivity(unchecked) private var hasEnded = false

    private enum Pass {
        /// The backlog is being looked through, since a moment.
        case running(since: Instant)
        /// It has been, and is again from a moment on.
        case resting(until: Instant)
    }

    private static let restBetweenSteps = Duration.milliseconds(5)
    private static let leastRest = Duration.seconds(10)
    /// A pass over a large backlog takes no more than this part of the time.
    private static let leisure = 20
    /// One that took long since the disk hung says nothing of the next.
    private static let mostRest = Duration.seconds(300)
    private static let timeBetweenChores = Duration.seconds(60)

    init(
        dispatchers: Dispatchers, events: EventQueue, settlements: Settlements, clock: ClockKeeper,
        counts: EventCounts, trace: EventTrace
    ) {
        self.dispatchers = dispatchers
        self.events = events
        self.settlements = settlements
        self.clock = clock
        self.counts = counts
        self.trace = trace
        nextChores = events.scheduler.now + Housekeeping.timeBetweenChores
        pass = .resting(until: events.scheduler.now)
    }

    /// Looks again when the next event in hand becomes too old, when the backlog is to be looked through, and once a minute
    /// for the rest.
    func schedule() {
        beginPassWhenDue()
        let next = hasEnded ? nil : nextLook
        guard alarm?.at != next else { return }
        alarm?.rings.dispose()
        alarm = next.map { next in (events.scheduler.schedule(at: next) { [weak self] in self?.look() }, next) }
    }

    /// An orderly stop is under way: nothing is looked through any more.
    func end() {
        hasEnded = true
    }

    private var nextLook: Instant {
        // Counted from the last time: a gate that is always busy would put it off for ever.
        var next = nextChores
        if case .resting(let end) = pass, dispatchers.hasUnread { next = min(next, end) }
        return dispatchers.nextExpiry.map { min($0, next) } ?? next
    }

    private func look() {
        alarm = nil
        if events.scheduler.now >= nextChores {
            nextChores = events.scheduler.now + Housekeeping.timeBetweenChores
            dispatchers.forgetOrphans()
            settlements.add(events.forgetOldIDs())
            clock.keep()
        }
        // Who looks at the end of the turn sets the next sweep. Set before, it would be due at once while what is too old
        // is still there: a timer that starts itself again lets nothing else run.
        dispatchers.lookAll()
        if dispatchers.present.isEmpty { schedule() }
    }

    // MARK: Sweeping

    /// Begins a pass when it is time for one. What dispatchers have in hand they look after themselves.
    private func beginPassWhenDue() {
        guard case .resting(let end) = pass, !hasEnded, events.scheduler.now >= end,
            let oldest = dispatchers.oldestUnread
        else { return }
        pass = .running(since: events.scheduler.now)
        events.sweep.begin(events.ageLimit, behind: oldest, through: events.lastStored)
        sweepOn()
    }

    private func sweepOn() {
        guard !hasEnded, let stretch = events.sweep.next else { return rest() }
        events.store.readAged(stretch) { [weak self] in self?.swept(stretch, $0) }
    }

    /// A store that cannot read now is asked again later, from where this pass has come to.
    private func swept(_ stretch: AgedStretch, _ result: Result<Chunk?, StoreFault>) {
        guard case .success(let chunk) = result else { return rest() }
        if let chunk { letGo(of: chunk) }
        events.sweep.advance(through: chunk?.lastSequenceNumber ?? stretch.through, isEmpty: chunk == nil)
        let scheduler = events.scheduler
        _ = scheduler.schedule(at: scheduler.now + Housekeeping.restBetweenSteps) { [weak self] in self?.sweepOn() }
    }

    private func rest() {
        guard case .running(let start) = pass else { return }
        let now = events.scheduler.now
        let rest = (now - start) * Housekeeping.leisure
        pass = .resting(until: now + min(max(Housekeeping.leastRest, rest), Housekeeping.mostRest))
        schedule()
    }

    private func letGo(of chunk: Chunk) {
        var old: [DispatcherNumber: [StoredEvent]] = [:]
        let holders = Dictionary(dispatchers.all.map { ($0.number, $0) }) { first, _ in first }
        let orphans = Dictionary(dispatchers.orphansWithEvents.map { ($0.number, $0) }) { first, _ in first }
        for event in chunk where events.sweep.isDue(event) {
            for number in events.routes.dispatchers(of: event.route) {
                let isUnread =
                    holders[number]?.queue.isUnread(event.sequenceNumber)
                    ?? orphans[number].map { !$0.settled.contains(event.sequenceNumber) } ?? false
                if isUnread { old[number, default: []].append(event) }
            }
        }
        for (number, events) in old {
            if let dispatcher = holders[number] { dispatcher.expireUnread(events) } else { expire(events, of: number) }
        }
    }

    /// Events of a dispatcher that is gone.
    private func expire(_ old: [StoredEvent], of orphan: DispatcherNumber) {
        for event in old { events.backlog.settle(event.tally, route: event.route, dispatcher: orphan) }
        counts.count(.expired, old.count)
        counts.tell(EventLoss(.expired, of: dispatchers.known.id(of: orphan) ?? "\(orphan)", events: old.count))
        trace.expiredEarlier(old, of: orphan, at: events.scheduler.wall)
        trace.settled(old.map { SettledEvent($0, sends: 0) }, by: orphan, as: .expired, at: events.scheduler.wall)
    }
}
