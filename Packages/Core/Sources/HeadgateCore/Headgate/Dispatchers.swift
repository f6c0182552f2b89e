import HeadgateData

/// The dispatchers of a gate: those that are configured, and those that were removed and have batches on their way.
final class Dispatchers {
    /// The route of an event that all want.
    @exclusivity(unchecked) private(set) var routeToAll = RouteTable.nobody
    /// All that the store knows.
    let known: KnownDispatchers
    @exclusivity(unchecked) private var configured: [String: Dispatcher] = [:] {
        didSet { present = configured.values.sorted { $0.id < $1.id } }
    }
    /// Those that are configured, in alphabetical order.
    @exclusivity(unchecked) private(set) var present: [Dispatcher] = []
    @exclusivity(unchecked) private var leaving: [String: Dispatcher] = [:]
    /// How many have been made.
    private var made = 0
    private let orphanAges = OrphanAges()
    private let surroundings: Dispatcher.Surroundings

    init(_ stored: [StoredDispatcher], _ surroundings: Dispatcher.Surroundings) {
        self.surroundings = surroundings
        known = KnownDispatchers(
            stored, events: surroundings.events, settlements: surroundings.settlements, trace: surroundings.trace)
    }

    // MARK: Which there are

    /// The ids of those that are configured, in alphabetical order.
    var ids: [String] { present.map(\.id) }

    /// Those that were removed and have something on its way among them, in alphabetical order.
    var all: [Dispatcher] { (present + Array(leaving.values)).sorted { $0.id < $1.id } }

    /// One that is configured.
    subscript(id: String) -> Dispatcher? { configured[id] }

    /// One that is configured, or has something on its way.
    func there(_ id: String) -> Dispatcher? { configured[id] ?? leaving[id] }

    func isConfigured(_ number: DispatcherNumber) -> Bool {
        present.contains { $0.number == number }
    }

    /// Adds one. One that the store knows goes on where it was; one that has not left yet comes back as it is.
    /// - Parameter pause: whether an operator had paused it.
    func add(
        _ settings: DispatcherSettings, kind: String, sender: any Sender, reachesNetwork: Bool,
        pause: ManualBarrier.Setting
    ) {
        if let former = settings.formerly { takeOver(former, for: settings.id) }
        if let dispatcher = leaving.removeValue(forKey: settings.id) {
            known.setSettled(dispatcher.queue.settled, of: settings.id)
            _ = known.adopt(settings.id)
            dispatcher.change(to: settings, kind: kind, sender: sender, reachesNetwork: reachesNetwork)
            return install(dispatcher)
        }
        let stored = known.adopt(settings.id)
        let events = surroundings.events
        let older = CountedEvents(events.backlog.unsettled(of: stored.number).events, through: events.lastStored)
        made += 1
        install(
            Dispatcher(
                incarnation: made, settings: settings, kind: kind, sender: sender, reachesNetwork: reachesNetwork,
                manual: ManualBarrier(pause),
                queue: DispatcherQueue(number: stored.number, settled: stored.settled, older: older),
                surroundings: surroundings))
    }

    /// Puts a dispatcher behind its barriers, from where it takes what is for it.
    private func install(_ dispatcher: Dispatcher) {
        configured[dispatcher.id] = dispatcher
        surroundings.coordinator.addDispatcher(dispatcher.id)
        let own: [(any Barrier, String, String?)] = [
            (dispatcher.manual, ManualBarrier.kind, ManualBarrier.word),
            (dispatcher.backoff, BackoffBarrier.kind, BackoffBarrier.word),
            (dispatcher.deadLetters, DeadLettersBarrier.kind, nil),
        ]
        for (barrier, kind, word) in own {
            let identity = BarrierIdentity(id: "\(kind):\(dispatcher.id)", kind: kind, word: word)
            surroundings.coordinator.register(
                barrier, identity: identity, scopes: [.dispatcher(id: dispatcher.id)])
        }
        dispatcher.placeActivationGate()
        surroundings.turn.look(dispatcher.id)
    }

    /// Removes one: it takes no more batches, and finishes what is on its way.
    /// - Returns: false when there is none of this name.
    func remove(_ id: String) -> Bool {
        guard let dispatcher = configured.removeValue(forKey: id) else { return false }
        dispatcher.leave()
        leaving[id] = dispatcher
        surroundings.coordinator.unregister(dispatcher.manual)
        // It may come back before its last batch has ended.
        dispatcher.setPause(ManualBarrier.Setting())
        surroundings.coordinator.unregister(dispatcher.backoff)
        surroundings.coordinator.unregister(dispatcher.deadLetters)
        dispatcher.removeActivationGate()
        surroundings.coordinator.removeDispatcher(id)
        surroundings.flushes.removeDispatcher(id)
        known.setSettled(dispatcher.queue.settled, of: id)
        orphanAges.note(dispatcher.queue.first?.event.receivedStamp, of: dispatcher.number)
        noteOrphans()
        surroundings.turn.look(id)
        return true
    }

    /// The fault that keeps a dispatcher from taking over the queue of one that is configured no more; nil if there is none,
    /// or no such queue (Behaviour Q3).
    func fault(takingOver former: String, by id: String) -> String? {
        guard known[former] != nil else { return nil }
        if known[id] != nil { return "cannot take over the queue of `\(former)`: `\(id)` has one of its own" }
        guard there(former)?.batchesInFlight ?? 0 > 0 else { return nil }
        return
            "cannot take over the queue of `\(former)` while a batch of it is in flight: pause `\(former)`, then try again"
    }

    private func takeOver(_ former: String, for id: String) {
        guard configured[former] == nil, fault(takingOver: former, by: id) == nil else { return }
        finishLeaving(former)
        known.rename(former, to: id)
        orphanAges.forget()
    }

    /// Lets a removed dispatcher go once nothing of it is on its way.
    private func finishLeaving(_ id: String) {
        guard let dispatcher = leaving[id], dispatcher.batchesInFlight == 0 else { return }
        dispatcher.close()
        let settled = dispatcher.queue.settled
        known.setSettled(settled, of: id)
        // The dispatcher is about to be gone, and can tell it no more.
        surroundings.settlements.settled(dispatcher.number) { settled }
        leaving[id] = nil
    }

    /// The route to all of them is another one by now.
    func renewRoute() {
        routeToAll = surroundings.events.routes.number(of: present.map(\.number))
    }

    // MARK: The turn

    /// All look at the end of the turn.
    func lookAll() {
        ids.forEach(surroundings.turn.look)
    }

    /// These look now. What is removed is let go.
    /// - Parameter stamp: the moment on the age scale.
    func look(_ ids: [String], at stamp: Int64) {
        for id in ids { configured[id]?.look(at: stamp) }
        if !leaving.isEmpty { ids.forEach(finishLeaving) }
    }

    /// A group was stored, with so much of each route, behind an event.
    func stored(_ tallies: RouteTallies, behind previous: SequenceNumber) {
        guard let (route, tally) = tallies.only else {
            return stored(counts(tallies), behind: previous)
        }
        let numbers = surroundings.events.routes.dispatchers(of: route)
        for dispatcher in present where numbers.contains(dispatcher.number) {
            dispatcher.stored(tally.events, behind: previous)
        }
    }

    private func stored(_ counts: [DispatcherNumber: Int], behind previous: SequenceNumber) {
        for dispatcher in present {
            guard let count = counts[dispatcher.number] else { continue }
            dispatcher.stored(count, behind: previous)
        }
    }

    /// How many events each dispatcher gets of several routes.
    private func counts(_ tallies: RouteTallies) -> [DispatcherNumber: Int] {
        var counts: [DispatcherNumber: Int] = [:]
        for (route, tally) in tallies {
            for number in surroundings.events.routes.dispatchers(of: route) {
                counts[number, default: 0] += tally.events
            }
        }
        return counts
    }

    // MARK: Making room

    /// Evicts the oldest events that are not in flight until the store is within its limits (Behaviour Q4, D12).
    /// - Parameter stamp: the moment on the age scale.
    func makeRoom(at stamp: Int64) {
        guard surroundings.events.limits.overflow == .dropOldest, isOverfull else { return }
        for dispatcher in present { dispatcher.freshen(at: stamp) }
        while isOverfull, evictOldest() {}
    }

    private var isOverfull: Bool { surroundings.events.limits.excess(of: surroundings.events.backlog.live) }

    /// - Returns: false when there is none to evict, or it is not known yet which is the oldest: a dispatcher reads on,
    ///   and looks again when it has.
    private func evictOldest() -> Bool {
        guard !present.contains(where: \.isFrontUnread) else { return false }
        let oldest = present.compactMap { $0.queue.firstWaiting?.sequenceNumber }.min()
        // Nobody reads the queue of a removed dispatcher: to make room it is given up whole.
        let orphan = orphansWithEvents.min { $0.position < $1.position }
        if let orphan, orphan.position < oldest ?? .max {
            guard !isStoring(for: orphan) else { return false }
            giveUp(orphan, counted: .evicted, .queueEvicted)
            return true
        }
        guard let oldest else { return false }
        for dispatcher in present where dispatcher.queue.firstWaiting?.sequenceNumber == oldest {
            dispatcher.evict(oldest)
            surroundings.turn.look(dispatcher.id)
        }
        return true
    }

    // MARK: Those that are gone

    /// A look into the queue of a removed dispatcher; nil if none is kept.
    func keptQueue(of id: String) -> DispatcherQueue? {
        orphansWithEvents.first { $0.id == id }.map { orphan in
            let count = surroundings.events.backlog.unsettled(of: orphan.number).events
            return DispatcherQueue(
                number: orphan.number, settled: orphan.settled,
                older: CountedEvents(count, through: surroundings.events.lastStored))
        }
    }

    /// Removed dispatchers that have something left, as they are reported (Behaviour Q3).
    var orphanSummaries: [OrphanSummary] {
        let events = surroundings.events
        let (stamp, wall) = (events.presentStamp(), events.scheduler.wall)
        return orphansWithEvents.sorted { $0.id < $1.id }.map { orphan in
            let end = (orphan.orphanedSince ?? stamp) + events.limits.orphanRetention.wholeMilliseconds
            let oldest = orphanAges.stamp(of: orphan, in: events)
            return OrphanSummary(
                id: orphan.id, events: events.backlog.unsettled(of: orphan.number).events,
                oldest: oldest.map { .milliseconds(max(0, stamp - $0)) },
                until: Timestamp(milliseconds: wall.milliseconds + max(0, end - stamp)))
        }
    }

    /// Removed dispatchers that have something left.
    var orphansWithEvents: [StoredDispatcher] {
        orphans.filter { surroundings.events.backlog.unsettled(of: $0.number).events > 0 }
    }

    /// Dispatchers that are gone, and have nothing on its way any more.
    private var orphans: [StoredDispatcher] {
        known.others(than: Set(configured.keys).union(leaving.keys))
    }

    /// Notes which known dispatchers are not configured any more; their queues are kept for a while (Behaviour Q3).
    func noteOrphans() {
        known.noteOrphans(except: Set(configured.keys))
        forgetOrphans()
        for orphan in orphansWithEvents { _ = orphanAges.stamp(of: orphan, in: surroundings.events) }
    }

    /// Gives up the queues of dispatchers that have been gone for too long (Behaviour Q3).
    func forgetOrphans() {
        let events = surroundings.events
        let oldest = events.presentStamp() - events.limits.orphanRetention.wholeMilliseconds
        for orphan in orphans where orphan.orphanedSince.map({ $0 <= oldest }) ?? false && !isStoring(for: orphan) {
            giveUp(orphan, counted: .expired, .queueExpired)
        }
    }

    private func giveUp(_ orphan: StoredDispatcher, counted counter: EventCounter, _ loss: EventLoss.Kind) {
        let count = known.forget(orphan)
        surroundings.counts.count(counter, count)
        surroundings.counts.tell(EventLoss(loss, of: orphan.id, events: count))
    }

    /// Whether something for a dispatcher is being stored. Were that one forgotten meanwhile, nobody would ever settle it, and
    /// a new one of the same number could take it for its own.
    private func isStoring(for orphan: StoredDispatcher) -> Bool {
        surroundings.events.offered(to: orphan.number) > 0
    }

    // MARK: Where they stand

    /// Up to which event nobody needs anything.
    func trimPoint() -> SequenceNumber { known.trimPoint { there($0)?.queue.position } }

    /// When the first of what waits in hand becomes too old, as of the last look.
    var nextExpiry: Instant? {
        present.reduce(nil) { next, dispatcher in
            guard let next, let expiry = dispatcher.nextExpiry else { return next ?? dispatcher.nextExpiry }
            return min(next, expiry)
        }
    }

    /// Whether there are events that nobody has in hand.
    var hasUnread: Bool {
        if present.contains(where: { $0.unread > 0 }) { return true }
        guard !leaving.isEmpty || known.count > configured.count else { return false }
        return oldestUnread != nil
    }

    /// Where the events begin that nobody has in hand; nil when there are none.
    var oldestUnread: SequenceNumber? {
        let positions = all.filter { $0.unread > 0 }.map(\.queue.readPosition)
        return (positions + orphansWithEvents.map(\.position)).min()
    }
}
