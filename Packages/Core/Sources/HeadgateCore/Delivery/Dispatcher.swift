import HeadgateData

/// A named dispatcher with its own queue position, limits and retry state. A failing dispatcher never delays another.
///
/// Its ``DeliveryMachine`` makes the decisions. The dispatcher reports facts to the machine and executes the orders
/// that it returns, all in ``perform(_:)``. It owns the sender and its own barriers, and writes to the store.
///
/// Members that every evaluation uses are exempt from run-time exclusivity checks. The exemption is safe because
/// nothing that is called with such a member calls back into the dispatcher.
final class Dispatcher {
    /// A number that distinguishes the dispatcher from earlier and later ones with the same id. Each has its own
    /// counters.
    let incarnation: Int
    let id: String
    private(set) var kind: String
    let manual: ManualBarrier
    let backoff: BackoffBarrier
    let deadLetters = DeadLettersBarrier()
    /// True if the destination is reached over a network (Behaviour B20).
    private(set) var reachesNetwork: Bool
    /// The time at which a buffered event becomes too old, as of the last evaluation; nil if none does.
    @exclusivity(unchecked) private(set) var nextExpiry: Instant?
    /// Measurements of events and attempts.
    @exclusivity(unchecked) private(set) var measures = DispatcherMeasures()

    @exclusivity(unchecked) private var machine: DeliveryMachine
    @exclusivity(unchecked) private var sender: any Sender
    /// Replaced senders that still have batches in flight.
    private var retiring = RetiringSenders()
    /// The activation barrier; nil if the settings name no board (Behaviour A9).
    @exclusivity(unchecked) private var activationGate: ActivationGate?
    @exclusivity(unchecked) private var linger = BatchDelay()
    /// The rewind under way; nil if there is none.
    private var rewind: RewindState?
    private var purgeWaiters: [Purges.Number: (PurgeOutcome) -> Void] = [:]
    private let surroundings: Dependencies
    @exclusivity(unchecked) private var seenWay: CachedState?

    /// The state of a rewind.
    private enum RewindState {
        /// Batches in flight, purges and reads are being finished. The closure gets false if the dispatcher is removed.
        case waiting((Bool) -> Void)
        /// The store is asked. The queue does not change meanwhile.
        case asking
    }

    /// A cached answer of the coordinator about this dispatcher's barriers.
    private final class CachedState {
        /// The version of the coordinator's state.
        let version: Int
        let isOpen: Bool
        let isOpenForFlushes: Bool
        /// The reasons for which dispatches are held, without and during a flush.
        let words: [String]
        let wordsForFlushes: [String]

        init(to id: String, _ coordinator: BarrierCoordinator) {
            let way = coordinator.way(to: id)
            version = coordinator.version
            (isOpen, isOpenForFlushes) = (way.isOpen(flushing: false), way.isOpen(flushing: true))
            words = coordinator.blockers(of: id, flushing: false).map(\.word)
            wordsForFlushes = coordinator.blockers(of: id, flushing: true).map(\.word)
        }
    }

    /// The objects that a dispatcher shares with the others.
    struct Dependencies {
        let events: EventQueue
        let coordinator: BarrierCoordinator
        let flushes: Flushes
        let settlements: Settlements
        let letters: DeadLetterTotals
        let depths: QueueDepths
        let counts: EventCounts
        /// The transformations of events just before they are sent (Behaviour P4).
        let transformations: Transformations
        let turn: PendingEvaluations
        let trace: EventTrace
        /// Returns a random number from 0 to 1.
        let chance: () -> Double

        var scheduler: any Scheduler { events.scheduler }
    }

    /// - Parameter queue: the dispatcher's state in the event queue.
    init(
        incarnation: Int, settings: DispatcherSettings, kind: String, sender: any Sender, reachesNetwork: Bool,
        manual: ManualBarrier, queue: DispatcherQueue, surroundings: Dependencies
    ) {
        (self.incarnation, id) = (incarnation, settings.id)
        self.kind = kind
        self.sender = sender
        self.reachesNetwork = reachesNetwork
        self.manual = manual
        self.surroundings = surroundings
        backoff = BackoffBarrier(scheduler: surroundings.scheduler)
        machine = DeliveryMachine(
            settings: settings, mostEvents: min(settings.dispatchLimit, sender.format.mostEvents), queue: queue,
            origin: surroundings.events.identity.origin(of: queue.number, queue.replay))
    }

    var settings: DispatcherSettings { machine.settings }

    // MARK: Pending events

    /// The dispatcher's state in the event queue, with its buffer.
    var queue: DispatcherQueue { machine.queue }

    var number: DispatcherNumber { machine.queue.number }

    /// The number and size of unsettled events, in flight or not.
    var unsettled: Tally { surroundings.events.backlog.unsettled(of: number) }

    /// The number of pending events: queued and not in flight.
    var pending: Int { machine.pending(in: surroundings.events) }

    /// The number of events that have not been read from the store.
    var unread: Int { machine.queue.unread(in: surroundings.events) }

    /// True if the oldest pending event has not been read.
    var isFrontUnread: Bool { pending > 0 && machine.queue.firstWaiting == nil }

    var batchesInFlight: Int { machine.flights.count }

    var bytesInFlight: Int { machine.flights.bytes }

    var counters: Counters<DispatcherCounter> { machine.counters }

    /// The cause of the last failed attempt; nil after a success.
    var lastError: String? { machine.lastError }

    /// The time of the last failed attempt; nil after a success.
    var lastErrorAt: Timestamp? { machine.lastErrorAt }

    /// Returns the wall-clock time at which an event was sent, or nil if it is not in flight.
    func sentAt(of sequenceNumber: SequenceNumber) -> Timestamp? {
        guard let sentAt = machine.flights.batch(with: sequenceNumber)?.sentAt else { return nil }
        let ago = (surroundings.scheduler.now - sentAt).wholeMilliseconds
        return Timestamp(milliseconds: surroundings.scheduler.wall.milliseconds - ago)
    }

    // MARK: Facts

    /// Evaluates the dispatcher: sends the events that may be sent now, and publishes the queue depth.
    /// - Parameter stamp: the present time on the age scale.
    func look(at stamp: Int64) {
        guard !isBeingRewound else { return }
        linger.end()
        openIfLettersFit()
        machine.beginEvaluation()
        continueEvaluation(at: stamp)
        nextExpiry = machine.firstEnd(maxAge: surroundings.events.maxAge).map(surroundings.events.ages.instant)
        if machine.isQuiet, case .waiting(let tell) = rewind {
            // Nothing expires until the store has answered.
            (rewind, nextExpiry) = (.asking, nil)
            tell(true)
        }
    }

    /// Buffers the next event, removes events that are too old or purged, and publishes the queue depth.
    func dropExpired(at stamp: Int64) {
        guard !isBeingRewound else { return }
        machine.beginFreshening()
        continueEvaluation(at: stamp)
    }

    private func continueEvaluation(at stamp: Int64) {
        var now = conditions(at: stamp)
        while machine.isEvaluating, let orders = machine.step(now, from: surroundings.events) {
            // A step without orders changes no condition.
            guard !orders.isEmpty else { continue }
            perform(orders)
            now = conditions(at: stamp)
        }
    }

    private func conditions(at stamp: Int64) -> DeliveryConditions {
        DeliveryConditions(
            stamp: stamp, openThrough: openThrough, capacity: sender.capacity,
            isDepthWatched: surroundings.depths.isWatched(id))
    }

    private var openThrough: SequenceNumber? {
        let way = self.way
        if way.isOpen { return .max }
        guard let target = surroundings.flushes.target(for: id), way.isOpenForFlushes else { return nil }
        return target
    }

    /// The state of this dispatcher's barriers. It is read several times per turn and seldom changes, so it is cached.
    private var way: CachedState {
        let coordinator = surroundings.coordinator
        if let seenWay, seenWay.version == coordinator.version { return seenWay }
        let seen = CachedState(to: id, coordinator)
        seenWay = seen
        return seen
    }

    /// Records that `count` events for this dispatcher were stored after `previous`.
    func stored(_ count: Int, behind previous: SequenceNumber) {
        machine.stored(count, behind: previous, in: surroundings.events)
        if !linger.isUnderWay || !mayLinger { surroundings.turn.look(id) }
    }

    /// Applies new settings (Behaviour S3). Batches in flight are finished by the sender that has them.
    /// - Parameter newSender: the new sender; nil to keep the present one.
    func change(to settings: DispatcherSettings, kind: String, sender newSender: (any Sender)?, reachesNetwork: Bool) {
        if let newSender {
            retiring.retire(sender, batches: batchesInFlight - retiring.batches)
            sender = newSender
        }
        self.kind = kind
        self.reachesNetwork = reachesNetwork
        let orders = machine.change(
            to: settings, mostEvents: min(settings.dispatchLimit, sender.format.mostEvents))
        placeActivationGate()
        perform(orders)
    }

    /// Applies an operator's pause or resume.
    func setPause(_ setting: ManualBarrier.Setting) {
        manual.set(setting)
        machine.holdReplaced()
    }

    /// Ends the wait after a failure, and after a refusal of the board of its activation barrier. The number of consecutive
    /// failures is unchanged, so that the next failure causes the same wait as it would have otherwise (Behaviour D5).
    /// - Returns: true if the dispatcher was waiting.
    func endBackoff() -> Bool {
        let wasResting = activationGate?.endRest() ?? false
        guard backoff.retryAt != nil else { return wasResting }
        backoff.open()
        perform(machine.readingRested())
        return true
    }

    /// Stops sending batches (Behaviour D11).
    func stop() {
        machine.stop()
    }

    /// Interrupts all batches in flight (Behaviour D11).
    func interrupt() {
        sender.interrupt()
        retiring.interrupt()
    }

    /// Begins the removal of the dispatcher: no more batches are sent, and those in flight are finished.
    func leave() {
        machine.stop()
        perform(machine.abandonPurges())
        guard case .waiting(let tell) = rewind else { return }
        endRewind()
        tell(false)
    }

    /// Releases the dispatcher after its removal, when no batch is in flight.
    func close() {
        linger.end()
        perform(machine.expireAll(surroundings.events.isTooOld))
        backoff.open()
        closeSender()
    }

    func closeSender() {
        sender.close()
    }

    /// Drops the pending events up to a sequence number. Events in flight are kept.
    /// - Parameter then: gets the number of dropped events when all are settled, or when the dispatcher is removed.
    func purge(through sequenceNumber: SequenceNumber, then: @escaping (PurgeOutcome) -> Void) {
        purgeWaiters[machine.purge(through: sequenceNumber)] = then
        surroundings.turn.look(id)
    }

    /// Finishes what is in flight, and then keeps the queue as it is until ``rewound(to:)`` or ``endRewind()`` (Behaviour
    /// R2). Call it only if ``isRewinding`` is false.
    /// - Parameter whenQuiet: is called with true when the queue no longer changes, or with false if the
    ///   dispatcher was removed before.
    func beginRewind(_ whenQuiet: @escaping (Bool) -> Void) {
        rewind = .waiting(whenQuiet)
        machine.beginRewind()
        surroundings.turn.look(id)
    }

    /// True from the request of a rewind to its end.
    var isRewinding: Bool { rewind != nil }

    /// True while the store is asked for a rewind: nothing may settle an event.
    var isBeingRewound: Bool { if case .asking = rewind { true } else { false } }

    /// Continues with the queue that a rewind has made.
    func rewound(to queue: DispatcherQueue) {
        rewind = nil
        let origin = surroundings.events.identity.origin(of: queue.number, queue.replay)
        machine.rewound(to: queue, origin: origin)
        surroundings.turn.look(id)
    }

    /// Continues as before, because the rewind was refused or failed.
    func endRewind() {
        rewind = nil
        machine.endRewind()
        surroundings.turn.look(id)
    }

    /// Evicts the front event to make room (Behaviour Q4, `drop_oldest`).
    func evict(_ sequenceNumber: SequenceNumber) {
        perform(.settle(SequenceSet([sequenceNumber]), as: .evicted))
        perform(machine.prepareNext(from: surroundings.events))
    }

    /// Settles events that the sweeper found too old before they were buffered (Behaviour Q4).
    func expireUnread(_ events: [StoredEvent]) {
        perform(machine.expiredUnread(events))
        surroundings.trace.expiredEarlier(events, of: number, at: surroundings.scheduler.wall)
        settled(events.map { SettledEvent($0, sends: 0) }, as: .expired)
        surroundings.turn.look(id)
    }

    // MARK: Orders

    private func perform(_ orders: [DeliveryOrder]) {
        for order in orders { perform(order) }
    }

    private func perform(_ order: DeliveryOrder) {
        switch order {
        case .settle(let sequenceNumbers, let end): settle(sequenceNumbers, as: end)
        case .writeSettled: writeSettled()
        case .countLost(let count): countLost(count)
        case .countFound(let tallies): countFound(tallies)
        case .readStore(let position): read(behind: position)
        case .restFromReading: restFromReading()
        case .publishDepth: publishDepth()
        case .noteHeld(let stretch): noteHeld(stretch)
        case .endPurge(let number, let end): purgeWaiters.removeValue(forKey: number)?(end)
        case .lay(let room): lay(room)
        case .send(let batch): send(batch)
        case .wantBoard: activationGate?.want()
        case .renewBoard(let opening): activationGate?.renew(opening)
        case .keep(let letters): keep(letters)
        case .holdForLetters(let bytes): holdForLetters(bytes)
        case .countRetried(let count): surroundings.counts.count(.retried, count)
        case .reportDuplicates(let count): surroundings.counts.tell(EventLoss(.duplicates, of: id, events: count))
        case .wait(let instant, let cause): backoff.close(until: instant, cause: cause)
        case .hold(let cause): manual.hold(cause: cause)
        case .endHold: manual.endHold()
        case .evaluateAgain: surroundings.turn.look(id)
        case .evaluateForMore: evaluateForMore()
        }
    }

    private func evaluateForMore() {
        guard mayLinger else { return surroundings.turn.look(id) }
        linger.begin(on: surroundings.scheduler) { [turn = surroundings.turn, id] in turn.look(id) }
    }

    /// True if the dispatcher may wait a moment for more events: it is open, no barrier observes its depth, and no
    /// flush waits for it.
    private var mayLinger: Bool {
        way.isOpen && surroundings.flushes.target(for: id) == nil && !surroundings.depths.isWatched(id)
            && machine.mayGetMore(in: surroundings.events, for: sender.capacity)
    }

    /// Builds a batch and sends it. Events that transformations drop are settled. If none is left, the dispatcher is
    /// evaluated again for the events after them.
    private func lay(_ room: BatchRoom) {
        var batch = BatchDraft(room, for: sender.format, machine: machine, surroundings)
        while let entry = machine.next(behind: batch.last, for: batch.builder, in: room), batch.add(entry) {}
        perform(.settle(batch.dropped, as: .transformedAway))
        if !batch.failed.isEmpty { perform(machine.transformationFailed(batch.failed, of: batch.failures, at: moment)) }
        if batch.builder.isEmpty, !batch.dropped.isEmpty || !batch.failed.isEmpty { surroundings.turn.look(id) }
        perform(machine.laid(&batch.builder, under: activationGate?.opening, at: surroundings.scheduler.now))
    }

    private func send(_ batch: Batch) {
        surroundings.depths.publishTaken(batch.events.count, of: id)
        measures.sent(events: batch.events.count)
        let sender = ObjectIdentifier(sender)
        self.sender.send(batch) { [weak self, number = batch.number] in self?.answered(number, $0, by: sender) }
    }

    private func answered(_ number: Int, _ result: SendResult, by sender: ObjectIdentifier) {
        surroundings.scheduler.preconditionOnScheduler()
        let (moment, batch) = (moment, machine.flights[number]?.batch)
        for (events, cause) in batch?.failures(result) ?? [] {
            surroundings.trace.failed(events, of: self.number, cause: cause)
        }
        let orders = machine.answered(number, result, at: moment)
        // A second result for the same batch produces no orders.
        guard !orders.isEmpty else { return }
        if let batch { measures.answered(AttemptOutcome(result, orders), after: moment.now - batch.sentAt) }
        retiring.finished(sender)
        perform(orders)
    }

    private var moment: DeliveryMoment {
        DeliveryMoment(
            now: surroundings.scheduler.now, wall: surroundings.scheduler.wall, chance: surroundings.chance(),
            letterRoom: surroundings.letters.room)
    }

    private func read(behind position: SequenceNumber) {
        surroundings.events.store.read(after: position) { [weak self] result in
            guard let self else { return }
            self.perform(self.machine.read(result, at: self.moment))
        }
    }

    private func restFromReading() {
        let scheduler = surroundings.scheduler
        _ = scheduler.schedule(at: backoff.retryAt ?? scheduler.now) { [weak self] in
            guard let self else { return }
            self.perform(self.machine.readingRested())
        }
    }

    // MARK: Settling

    /// Stores dead letters of events that failed together, for the same reason.
    private func keep(_ letters: [DeadLetter]) {
        surroundings.letters.keep(letters)
        guard let first = letters.first else { return }
        surroundings.counts.tell(
            EventLoss(
                .dead(first.reason), of: id, events: letters.count, cause: lastError,
                firstID: first.event.map { String($0.id.withoutQuotes) }))
    }

    /// Holds the dispatcher until there is room for a dead letter of `bytes`.
    private func holdForLetters(_ bytes: Int) {
        let isNews = deadLetters.needed == nil
        deadLetters.close(needing: max(bytes, deadLetters.needed ?? 0))
        surroundings.letters.hold(id)
        guard isNews else { return }
        surroundings.counts.tell(EventLoss(.lettersFull, of: id, events: surroundings.letters.used.events))
    }

    private func openIfLettersFit() {
        guard let needed = deadLetters.needed, surroundings.letters.room.fits(needed) else { return }
        deadLetters.open()
        surroundings.letters.release(id)
    }

    private func settle(_ sequenceNumbers: SequenceSet, as end: DeliveryOutcome) {
        guard !sequenceNumbers.isEmpty else { return }
        traceEarlier(sequenceNumbers, end)
        settled(machine.release(sequenceNumbers), as: end)
    }

    /// Records the outcome of events that an earlier daemon received (Behaviour O2).
    private func traceEarlier(_ sequenceNumbers: SequenceSet, _ end: DeliveryOutcome) {
        let trace = surroundings.trace
        guard let first = sequenceNumbers.stretches.first?.lowerBound,
            let last = sequenceNumbers.stretches.last?.upperBound, trace.hasEarlier(in: first...last)
        else { return }
        let wall = surroundings.scheduler.wall
        for entry in machine.queue.entries(of: sequenceNumbers) where trace.isEarlier(entry.sequenceNumber) {
            trace.settledEarlier(entry.event, sends: entry.progress.sends, by: number, as: end, at: wall)
        }
    }

    /// Counts, traces and writes down settled events, which are no longer in the buffer or never were.
    private func settled(_ events: [SettledEvent], as end: DeliveryOutcome) {
        guard !events.isEmpty else { return }
        surroundings.trace.settled(events, by: number, as: end, at: surroundings.scheduler.wall)
        var tallies = RouteTallies()
        for event in events { tallies.add(event.tally, route: event.route) }
        for (route, tally) in tallies {
            surroundings.events.backlog.settle(tally, route: route, dispatcher: number)
        }
        // The age of a replayed event says nothing about the delivery.
        let first = machine.queue.replay == nil ? events : events.filter { !$0.isReplayed }
        if end == .delivered { measures.delivered(first, at: surroundings.events.presentStamp()) }
        surroundings.counts.count(end.counter, events.count)
        if let loss = end.loss { surroundings.counts.tell(EventLoss(loss, of: id, events: events.count)) }
        machine.settled(events.count, as: end, in: surroundings.events)
        writeSettled()
        // A flush covers what was pending when it began, not what a rewind has made pending again.
        notifyFlushes(first.lazy.map(\.sequenceNumber), end)
    }

    /// Schedules the write of this dispatcher's settlements. The closure returns their state at the time of the write.
    private func writeSettled() {
        surroundings.settlements.settled(number) { [weak self] in self?.machine.queue.settled }
    }

    private func notifyFlushes(_ sequenceNumbers: some Collection<SequenceNumber>, _ end: DeliveryOutcome) {
        let (flushes, position) = (surroundings.flushes, machine.queue.position)
        switch end {
        case .delivered: flushes.settled(sequenceNumbers, of: id, sent: true, position: position)
        case .dead, .expired, .evicted, .purged:
            flushes.settled(sequenceNumbers, of: id, sent: false, position: position)
        case .transformedAway: flushes.dropped(sequenceNumbers, of: id, position: position)
        }
    }

    /// Counts events as quarantined that a damaged store has lost (Behaviour Q8).
    private func countLost(_ count: Int) {
        surroundings.events.backlog.keep(machine.queue.entries, of: number)
        surroundings.counts.count(.quarantined, count)
        surroundings.counts.tell(EventLoss(.quarantined, of: id, events: count))
        writeSettled()
        surroundings.flushes.settled([], of: id, sent: false, position: machine.queue.position)
    }

    /// Counts events that a damaged store has beyond its count.
    private func countFound(_ tallies: RouteTallies) {
        for (route, tally) in tallies { surroundings.events.backlog.add(tally, route: route, dispatchers: [number]) }
    }

    // MARK: Notifications

    private func publishDepth() {
        guard surroundings.depths.isWatched(id) else { return }
        let oldest = machine.queue.firstWaiting.map { surroundings.events.ages.instant(of: $0.event.receivedStamp) }
        let depth = QueueDepth(pending: pending, oldestSince: oldest, dispatchLimit: machine.dispatchLimit)
        surroundings.depths.publish(depth, of: id)
    }

    private func noteHeld(_ stretch: ClosedRange<SequenceNumber>) {
        machine.held(for: surroundings.flushes.target(for: id) == nil ? way.words : way.wordsForFlushes, stretch)
    }

    // MARK: The activation barrier

    /// Registers the activation barrier that the settings ask for, or removes it (Behaviour A9).
    func placeActivationGate() {
        guard activationGate?.settings != settings.activationBarrier else { return }
        removeActivationGate()
        guard let barrier = settings.activationBarrier else { return }
        let gate = ActivationGate(
            barrier, dispatcherId: id, scheduler: surroundings.scheduler, turn: surroundings.turn
        ) { [weak self] in self?.waitAfterRefusal(&$0) ?? .zero }
        activationGate = gate
        machine.boardPlaced(true)
        surroundings.coordinator.register(gate, identity: gate.identity, scopes: [.dispatcher(id: id)])
        surroundings.coordinator.setConfiguration(barrier.configuration, of: gate)
    }

    func removeActivationGate() {
        guard let gate = activationGate else { return }
        activationGate = nil
        machine.boardPlaced(false)
        surroundings.coordinator.unregister(gate)
        gate.end()
    }

    private func waitAfterRefusal(_ retries: inout RetryPolicy) -> Duration {
        retries.failed(
            base: settings.backoffBase, cap: settings.backoffCap, retryAfter: nil, chance: surroundings.chance())
    }
}
