import HeadgateData

/// The dispatchers of a gate: those that are configured, and removed ones that have batches in flight.
public final class Dispatchers {
    /// The route of an event for all dispatchers.
    @exclusivity(unchecked) public private(set) var routeToAll = RouteTable.noDispatcher
    /// All dispatchers that the store knows.
    let known: KnownDispatchers
    @exclusivity(unchecked) private var configured: [String: Dispatcher] = [:] {
        didSet { present = configured.values.sorted { $0.id < $1.id } }
    }
    /// The configured dispatchers in alphabetical order.
    @exclusivity(unchecked) private(set) var present: [Dispatcher] = []
    @exclusivity(unchecked) private var leaving: [String: Dispatcher] = [:]
    /// True if no dispatcher may send, because the gate stops (Behaviour D11).
    private var isStopped = false
    /// The number of dispatchers created so far.
    private var made = 0
    /// Evicted events that made no room, because they were replayed (Behaviour Q4, R2).
    private var evictedReplays = Tally.zero
    private let orphanAges = OrphanAges()
    private let parts: Parts

    init(_ stored: [StoredDispatcher], kept: [String: [UInt8]] = [:], _ parts: Parts) {
        self.parts = parts
        known = KnownDispatchers(
            stored, kept: kept, events: parts.records.events, settlements: parts.records.settlements,
            trace: parts.records.trace)
    }

    /// The parts of the gate that dispatchers and their list use.
    struct Parts {
        let records: OutcomeRecords
        let coordinator: BarrierCoordinator
        let depths: QueueDepths
        let transformations: Transformations
        let loadRouter: LoadRouter
        let turn: PendingEvaluations
        /// Returns a random number from 0 to 1.
        let chance: () -> Double
    }

    // MARK: Lists

    /// The ids of the configured dispatchers in alphabetical order.
    public var ids: [String] { present.map(\.id) }

    /// The configured dispatchers and the removed ones that have batches in flight, in alphabetical order.
    var all: [Dispatcher] { (present + Array(leaving.values)).sorted { $0.id < $1.id } }

    /// Returns true if a dispatcher is configured.
    public func contains(_ id: String) -> Bool { configured[id] != nil }

    /// Returns the id of a dispatcher that is configured or whose queue is kept.
    public func id(of number: DispatcherNumber) -> String? { known.id(of: number) }

    /// Reports that a destination has more capacity than before (``Sender/capacity``). The dispatcher is evaluated
    /// again.
    public func destinationHasRoom(_ id: String) { parts.turn.evaluate(id) }

    /// The configured dispatcher with an id.
    subscript(id: String) -> Dispatcher? { configured[id] }

    /// Returns the dispatcher with an id, configured or with batches in flight.
    func there(_ id: String) -> Dispatcher? { configured[id] ?? leaving[id] }

    func isConfigured(_ number: DispatcherNumber) -> Bool {
        present.contains { $0.number == number }
    }

    /// Adds a dispatcher. A dispatcher that the store knows continues at its position. A removed one that still has
    /// batches in flight is reused.
    /// - Parameter pause: the operator's pause setting.
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
        let isNew = known[settings.id] == nil
        let stored = known.adopt(settings.id)
        made += 1
        if isNew { noteStart(settings.start, of: stored.number) }
        install(
            Dispatcher(
                incarnation: made, settings: settings, kind: kind, sender: sender, reachesNetwork: reachesNetwork,
                manual: ManualBarrier(pause),
                queue: queue(of: stored), records: parts.records,
                barriers: BarrierView(of: settings.id, parts.coordinator, parts.records.flushes, parts.depths),
                transformations: parts.transformations, loadRules: parts.loadRouter,
                clock: DispatcherClock(parts.turn, chance: parts.chance, on: parts.records.events.scheduler)))
    }

    /// Returns the queue of a dispatcher that continues at its position.
    func queue(of stored: StoredDispatcher) -> DispatcherQueue {
        let events = parts.records.events
        let replay = known.replays[stored.number]
        let isLeft = replay?.isLeft(behind: stored.position) ?? false
        let older = EventCount(events.backlog.unsettled(of: stored.number).events, through: events.lastStored)
        return DispatcherQueue(
            number: stored.number, settled: stored.settled, older: older, replay: replay,
            sweptAfter: isLeft ? replay?.last ?? 0 : 0,
            judgedThrough: known.starts[stored.number]?.judgedThrough ?? 0)
    }

    /// Records that a new dispatcher starts at an earlier event (Behaviour R4). ``Rewinds/start(_:)`` moves it there.
    private func noteStart(_ start: DispatcherStart, of number: DispatcherNumber) {
        let events = parts.records.events
        guard start != .newest, events.store.canRewind, events.lastSequenceNumber > 0 else { return }
        let first: RewindRequest.Start =
            switch start {
            case .newest, .oldest: .sequenceNumber(1)
            case .at(let target): target.start(in: events)
            }
        known.begin(EarlyStart(at: first, judgedThrough: events.lastSequenceNumber), of: number)
    }

    /// Registers a dispatcher with its own barriers and evaluates it at the end of the turn.
    private func install(_ dispatcher: Dispatcher) {
        configured[dispatcher.id] = dispatcher
        if isStopped { dispatcher.stop() }
        parts.coordinator.addDispatcher(dispatcher.id)
        let own: [(any Barrier, String, String?)] = [
            (dispatcher.manual, ManualBarrier.kind, ManualBarrier.word),
            (dispatcher.backoff, BackoffBarrier.kind, BackoffBarrier.word),
            (dispatcher.deadLetters, DeadLettersBarrier.kind, nil),
        ]
        for (barrier, kind, word) in own {
            let identity = BarrierIdentity(id: "\(kind):\(dispatcher.id)", kind: kind, word: word)
            parts.coordinator.register(
                barrier, identity: identity, scopes: [.dispatcher(id: dispatcher.id)])
        }
        dispatcher.addActivationGate()
        parts.turn.evaluate(dispatcher)
    }

    /// Removes a dispatcher: it sends no more batches and finishes those in flight.
    /// - Returns: false if there is no such dispatcher.
    func remove(_ id: String) -> Bool {
        guard let dispatcher = configured.removeValue(forKey: id) else { return false }
        dispatcher.leave()
        leaving[id] = dispatcher
        parts.coordinator.unregister(dispatcher.manual)
        // The dispatcher may be added again before its last batch has ended.
        dispatcher.setPause(ManualBarrier.Setting())
        parts.coordinator.unregister(dispatcher.backoff)
        parts.coordinator.unregister(dispatcher.deadLetters)
        dispatcher.removeActivationGate()
        parts.coordinator.removeDispatcher(id)
        parts.records.flushes.removeDispatcher(id)
        known.setSettled(dispatcher.queue.settled, of: id)
        orphanAges.note(dispatcher.queue.first?.event.receivedStamp, of: dispatcher.number)
        noteOrphans()
        parts.turn.evaluate(dispatcher)
        return true
    }

    /// Stops all dispatchers, and those that are added from now on: they send no more batches.
    func stop() {
        isStopped = true
        for dispatcher in present { dispatcher.stop() }
    }

    /// Returns the fault that prevents a dispatcher from taking over the queue of a removed one, or nil if there is
    /// none or no such queue exists (Behaviour Q3).
    public func fault(takingOver former: String, by id: String) -> String? {
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

    /// Releases a removed dispatcher if it has no batch in flight.
    private func finishLeaving(_ id: String) {
        guard let dispatcher = leaving[id], dispatcher.batchesInFlight == 0 else { return }
        dispatcher.close()
        let settled = dispatcher.queue.settled
        known.setSettled(settled, of: id)
        // The dispatcher is released before the settlements are written, so the closure must not refer to it.
        parts.records.settlements.settled(dispatcher.number) { settled }
        leaving[id] = nil
    }

    /// Updates the route to all dispatchers, after dispatchers were added or removed.
    func renewRoute() {
        routeToAll = parts.records.events.routes.number(of: present.map(\.number))
    }

    // MARK: End of the turn

    /// Evaluates all dispatchers at the end of the turn.
    func evaluateAll() {
        for dispatcher in present { parts.turn.evaluate(dispatcher) }
    }

    /// Evaluates dispatchers, and releases removed ones that have no batch in flight.
    /// - Parameter stamp: the present time on the age scale.
    func evaluate(_ evaluated: [any EvaluatedDispatcher], at stamp: Int64) {
        for dispatcher in evaluated { dispatcher.evaluate(at: stamp) }
        if !leaving.isEmpty { for dispatcher in evaluated { finishLeaving(dispatcher.id) } }
    }

    /// Notifies dispatchers of a stored group.
    /// - Parameters:
    ///   - tallies: the events of the group, by route.
    ///   - previous: the newest event before the group.
    func stored(_ tallies: RouteTallies, behind previous: SequenceNumber) {
        guard let (route, tally) = tallies.only else {
            return stored(counts(tallies), behind: previous)
        }
        let numbers = parts.records.events.routes.dispatchers(of: route)
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

    /// Returns the number of events per dispatcher, from tallies of several routes.
    private func counts(_ tallies: RouteTallies) -> [DispatcherNumber: Int] {
        var counts: [DispatcherNumber: Int] = [:]
        for (route, tally) in tallies {
            for number in parts.records.events.routes.dispatchers(of: route) {
                counts[number, default: 0] += tally.events
            }
        }
        return counts
    }

    // MARK: Making room

    /// Evicts the oldest events that are not in flight until the store is within its limits (Behaviour Q4, D12).
    ///
    /// Replayed events come before all others and do not count against the limits. One is evicted for each event above a
    /// limit, so that a single event does not cost a whole replay. The store is above its limits until the replay ends.
    /// - Parameter stamp: the present time on the age scale.
    func makeRoom(at stamp: Int64) {
        guard parts.records.events.limits.overflow == .dropOldest, !isBeingRewound else { return }
        if !present.contains(where: { $0.queue.firstWaiting?.progress.isReplayed ?? false }) { evictedReplays = .zero }
        guard isOverfull else { return }
        for dispatcher in present { dispatcher.dropExpired(at: stamp) }
        while isOverfull, evictOldest() {}
    }

    private var isOverfull: Bool {
        parts.records.events.limits.excess(of: parts.records.events.backlog.live - evictedReplays)
    }

    /// Evicts the oldest event, or the queue of a removed dispatcher if that is older.
    /// - Returns: false if there is nothing to evict, or if the oldest event is not known because a dispatcher has yet
    ///   to read it. That dispatcher is evaluated again after the read.
    private func evictOldest() -> Bool {
        guard !present.contains(where: \.isHeadUnread) else { return false }
        let oldest = present.compactMap(\.queue.firstWaiting).min { $0.sequenceNumber < $1.sequenceNumber }
        // The queue of a removed dispatcher is not read: it is dropped as a whole.
        let orphan = orphansWithEvents.min { $0.position < $1.position }
        if let orphan, orphan.position < oldest?.sequenceNumber ?? .max {
            guard !isStoring(for: orphan) else { return false }
            drop(orphan, counted: .evicted, .queueEvicted)
            return true
        }
        guard let oldest else { return false }
        let live = parts.records.events.backlog.live
        for dispatcher in present where dispatcher.queue.firstWaiting?.sequenceNumber == oldest.sequenceNumber {
            dispatcher.evict(oldest.sequenceNumber)
            parts.turn.evaluate(dispatcher)
        }
        if oldest.progress.isReplayed, parts.records.events.backlog.live == live { evictedReplays += oldest.tally }
        return true
    }

    // MARK: Removed dispatchers

    /// Returns a copy of a removed dispatcher's queue for reading, or nil if none is kept.
    func keptQueue(of id: String) -> DispatcherQueue? {
        leaving[id]?.queue ?? orphansWithEvents.first { ExactName($0.id) == ExactName(id) }.map(queue)
    }

    /// The queues of removed dispatchers, with batches in flight or not, in alphabetical order of the dispatchers
    /// (Behaviour Q3).
    public var orphanSummaries: [OrphanSummary] {
        let events = parts.records.events
        let (stamp, wall) = (events.presentStamp(), events.scheduler.wall)
        let removed = withEvents(known.others(than: Set(configured.keys)))
        return removed.sorted { $0.id < $1.id }.map { orphan in
            let end = (orphan.orphanedSince ?? stamp) + events.limits.orphanRetention.wholeMilliseconds
            let oldest = orphanAges.stamp(of: orphan, in: events)
            return OrphanSummary(
                id: orphan.id, events: events.backlog.unsettled(of: orphan.number).events,
                oldest: oldest.map { .milliseconds(max(0, stamp - $0)) },
                until: Timestamp(milliseconds: wall.milliseconds + max(0, end - stamp)))
        }
    }

    /// The removed dispatchers with unsettled events and without batches in flight.
    var orphansWithEvents: [StoredDispatcher] { withEvents(orphans) }

    private func withEvents(_ dispatchers: [StoredDispatcher]) -> [StoredDispatcher] {
        dispatchers.filter { parts.records.events.backlog.unsettled(of: $0.number).events > 0 }
    }

    /// The removed dispatchers without batches in flight.
    private var orphans: [StoredDispatcher] {
        known.others(than: Set(configured.keys).union(leaving.keys))
    }

    /// The ids of the known dispatchers that are not configured.
    var orphanIDs: [String] { orphans.map(\.id) }

    /// Records which known dispatchers are not configured. Their queues are kept for the retention time (Behaviour Q3).
    func noteOrphans() {
        known.noteOrphans(except: Set(configured.keys))
        forgetOrphans()
        for orphan in orphansWithEvents { _ = orphanAges.stamp(of: orphan, in: parts.records.events) }
    }

    /// Drops the queues of dispatchers that were removed longer ago than the retention time (Behaviour Q3).
    func forgetOrphans() {
        let events = parts.records.events
        let oldest = events.presentStamp() - events.limits.orphanRetention.wholeMilliseconds
        for orphan in orphans where orphan.orphanedSince.map({ $0 <= oldest }) ?? false && !isStoring(for: orphan) {
            drop(orphan, counted: .expired, .queueExpired)
        }
    }

    private func drop(_ orphan: StoredDispatcher, counted counter: EventCounter, _ loss: EventLoss.Kind) {
        let count = known.forget(orphan)
        parts.records.counts.count(counter, count)
        parts.records.counts.report(EventLoss(loss, of: orphan.id, events: count))
    }

    /// Returns true if an event for a removed dispatcher is being stored. If the dispatcher were forgotten meanwhile,
    /// the event would never be settled, or would go to a new dispatcher with the same number.
    private func isStoring(for orphan: StoredDispatcher) -> Bool {
        parts.records.events.offered(to: orphan.number) > 0
    }

    // MARK: Positions

    /// Returns the sequence number up to which no dispatcher needs events. Returns 0 while the store processes a
    /// rewind, because a dispatcher may need any event.
    func trimPoint() -> SequenceNumber { isBeingRewound ? 0 : known.trimPoint { there($0)?.queue.position } }

    /// True while the store processes a rewind of a dispatcher.
    var isBeingRewound: Bool {
        present.contains(where: \.isBeingRewound) || leaving.values.contains(where: \.isBeingRewound)
    }

    /// The time at which the first pending event of a buffer becomes too old, as of the last evaluation.
    var nextExpiry: Instant? {
        present.reduce(nil) { next, dispatcher in
            guard let next, let expiry = dispatcher.nextExpiry else { return next ?? dispatcher.nextExpiry }
            return min(next, expiry)
        }
    }

    /// True if there are events that a dispatcher has not read.
    var hasUnread: Bool {
        if present.contains(where: { $0.unread > 0 }) { return true }
        guard !leaving.isEmpty || known.count > configured.count else { return false }
        return oldestUnread != nil
    }

    /// The sequence number after which there are events that a dispatcher has not read; nil if there are none.
    var oldestUnread: SequenceNumber? {
        let positions = all.filter { $0.unread > 0 }.map(\.queue.readPosition)
        return (positions + orphansWithEvents.map(\.position)).min()
    }
}
