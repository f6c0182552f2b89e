import HeadgateData

/// A named dispatcher with its own queue position, limits and retry state. A failing dispatcher never delays another.
///
/// Its ``DeliveryMachine`` makes the decisions. The dispatcher reports facts to the machine and executes the orders
/// that it returns, all in ``perform(_:)``. It owns the sender and its own barriers, and writes to the store.
///
/// Members that every evaluation uses are exempt from run-time exclusivity checks. The exemption is safe because
/// nothing that is called with such a member calls back into the dispatcher.
final class Dispatcher: EvaluatedDispatcher {
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
    @exclusivity(unchecked) private var batchDelay = BatchDelay()
    /// The rewind under way; nil if there is none.
    private var rewind: RewindState?
    private var purgeWaiters: [Purges.Number: (PurgeOutcome) -> Void] = [:]
    private let records: OutcomeRecords
    @exclusivity(unchecked) private var barriers: BarrierView
    /// The transformations of events just before they are sent (Behaviour P4).
    private let transformations: Transformations
    private let loadRules: LoadRouter
    private let clock: DispatcherClock

    /// The state of a rewind. Without a rewind there is no state. A request in either state is not allowed: the caller
    /// checks ``isRewinding`` first.
    private enum RewindState {
        /// Batches in flight, purges and reads are being finished. The closure gets true after each evaluation that
        /// leaves nothing of them, and false if the dispatcher is removed, which ends the rewind. Next: `asking`, after
        /// ``freeze()``.
        case waiting((Bool) -> Void)
        /// The store processes the rewind. The queue does not change meanwhile, and the dispatcher is not evaluated.
        /// Next: no state, after ``rewound(to:isStart:)`` or ``endRewind()``.
        case asking
    }

    /// - Parameter queue: the dispatcher's state in the event queue.
    init(
        incarnation: Int, settings: DispatcherSettings, kind: String, sender: any Sender, reachesNetwork: Bool,
        manual: ManualBarrier, queue: DispatcherQueue, records: OutcomeRecords, barriers: BarrierView,
        transformations: Transformations, loadRules: LoadRouter, clock: DispatcherClock
    ) {
        (self.incarnation, id) = (incarnation, settings.id)
        self.kind = kind
        self.sender = sender
        self.reachesNetwork = reachesNetwork
        self.manual = manual
        (self.records, self.barriers, self.transformations, self.clock) = (records, barriers, transformations, clock)
        self.loadRules = loadRules
        backoff = BackoffBarrier(scheduler: clock.scheduler)
        machine = DeliveryMachine(
            settings: settings, mostEvents: min(settings.dispatchLimit, sender.format.mostEvents), queue: queue,
            origin: records.events.identity.origin(of: queue.number, queue.replay))
    }

    var settings: DispatcherSettings { machine.settings }

    // MARK: Pending events

    /// The dispatcher's state in the event queue, with its buffer.
    var queue: DispatcherQueue { machine.queue }

    var number: DispatcherNumber { machine.queue.number }

    /// The number and size of unsettled events, in flight or not.
    var unsettled: Tally { records.events.backlog.unsettled(of: number) }

    /// The number of pending events: queued and not in flight.
    var pending: Int { machine.pending(in: records.events) }

    /// The number of events that have not been read from the store.
    var unread: Int { machine.queue.unread(in: records.events) }

    /// True if the oldest pending event has not been read.
    var isHeadUnread: Bool { pending > 0 && machine.queue.firstWaiting == nil }

    var batchesInFlight: Int { machine.flights.count }

    var bytesInFlight: Int { machine.flights.bytes }

    var counters: Counters<DispatcherCounter> { machine.counters }

    /// The cause of the last failed attempt; nil after a success.
    var lastError: String? { machine.attempts.lastFailure?.cause }

    /// The time of the last failed attempt; nil after a success.
    var lastErrorAt: Timestamp? { machine.attempts.lastFailure?.time }

    /// Returns the wall-clock time at which an event was sent, or nil if it is not in flight.
    func sentAt(of sequenceNumber: SequenceNumber) -> Timestamp? {
        guard let sentAt = machine.flights.batch(with: sequenceNumber)?.sentAt else { return nil }
        let ago = (clock.scheduler.now - sentAt).wholeMilliseconds
        return Timestamp(milliseconds: clock.scheduler.wall.milliseconds - ago)
    }

    // MARK: Facts

    /// Evaluates the dispatcher: sends the events that may be sent now, and publishes the queue depth.
    /// - Parameter stamp: the present time on the age scale.
    func evaluate(at stamp: Int64) {
        guard !machine.isLeaving, !isBeingRewound else { return }
        batchDelay.end()
        openIfDeadLettersFit()
        machine.beginEvaluation()
        continueEvaluation(at: stamp)
        nextExpiry = machine.firstEnd(maxAge: records.events.maxAge).map(records.events.ages.instant)
        if machine.isQuiet, case .waiting(let answer) = rewind { answer(true) }
    }

    /// Buffers the next event, removes events that are too old or purged, and publishes the queue depth.
    func dropExpired(at stamp: Int64) {
        guard !isBeingRewound else { return }
        machine.beginRemovingExpired()
        continueEvaluation(at: stamp)
    }

    private func continueEvaluation(at stamp: Int64) {
        var now = conditions(at: stamp)
        while machine.isEvaluating, let orders = machine.step(now, from: records.events) {
            // A step without orders changes no condition.
            guard !orders.isEmpty else { continue }
            perform(orders)
            now = conditions(at: stamp)
        }
    }

    private func conditions(at stamp: Int64) -> DeliveryConditions {
        DeliveryConditions(
            stamp: stamp, openThrough: barriers.openThrough, capacity: sender.capacity,
            isDepthWatched: barriers.isDepthWatched)
    }

    /// Records that `count` events for this dispatcher were stored after `previous`.
    func stored(_ count: Int, behind previous: SequenceNumber) {
        machine.stored(count, behind: previous, in: records.events)
        if !batchDelay.isInProgress || !mayDelay { clock.turn.evaluate(self) }
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
        addActivationGate()
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
        perform(machine.leave())
        guard case .waiting(let answer) = rewind else { return }
        endRewind()
        answer(false)
    }

    /// Releases the dispatcher after its removal, when no batch is in flight.
    func close() {
        batchDelay.end()
        perform(machine.expireAll(records.events.isTooOld))
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
        clock.turn.evaluate(self)
    }

    /// Finishes the batches in flight, purges and reads, and sends nothing until ``rewound(to:isStart:)`` or
    /// ``endRewind()`` (Behaviour R2). Call it only if ``isRewinding`` is false.
    /// - Parameter whenQuiet: is called with true whenever nothing is in flight after an evaluation, until ``freeze()``,
    ///   or with false if the dispatcher was removed before.
    func beginRewind(_ whenQuiet: @escaping (Bool) -> Void) {
        rewind = .waiting(whenQuiet)
        machine.beginRewind()
        clock.turn.evaluate(self)
    }

    /// True if nothing is in flight, being purged or being read.
    var isQuiet: Bool { machine.isQuiet }

    /// Keeps the queue as it is, because the store processes a rewind. Call it only while ``isQuiet`` is true after
    /// ``beginRewind(_:)``.
    func freeze() {
        // Nothing expires until the store has answered.
        (rewind, nextExpiry) = (.asking, nil)
    }

    /// Returns true if a batch has been in flight for at least some time.
    func hasBeenSending(for time: Duration) -> Bool {
        let now = clock.scheduler.now
        return machine.flights.contains { now - $0.sentAt >= time }
    }

    /// True from the request of a rewind to its end.
    var isRewinding: Bool { rewind != nil }

    /// True while the store processes a rewind of the dispatcher: nothing may settle an event.
    var isBeingRewound: Bool { if case .asking = rewind { true } else { false } }

    /// Continues with the queue that the store returned after a rewind.
    /// - Parameter isStart: true if the dispatcher was moved to its start (Behaviour R4), which is not counted.
    func rewound(to queue: DispatcherQueue, isStart: Bool) {
        rewind = nil
        records.flushes.rewound(id)
        let origin = records.events.identity.origin(of: queue.number, queue.replay)
        machine.rewound(to: queue, origin: origin, isStart: isStart)
        clock.turn.evaluate(self)
    }

    /// Continues as before, because the rewind was refused or failed.
    func endRewind() {
        rewind = nil
        machine.endRewind()
        clock.turn.evaluate(self)
    }

    /// Evicts the oldest event to make room (Behaviour Q4, `drop_oldest`).
    func evict(_ sequenceNumber: SequenceNumber) {
        perform(.settle(SequenceSet([sequenceNumber]), as: .evicted))
        perform(machine.prepareNext(from: records.events))
    }

    /// Settles events that the sweeper found too old before they were buffered (Behaviour Q4).
    func expireUnread(_ events: [StoredEvent]) {
        perform(machine.expiredUnread(events))
        records.trace.expiredEarlier(events, of: number, at: clock.scheduler.wall)
        settled(events.map { SettledEvent($0, sends: 0) }, as: .expired)
        clock.turn.evaluate(self)
    }

    /// Settles erased events, buffered or not (Behaviour E1). Nothing is in flight, and nothing is being read.
    func erased(_ events: [StoredEvent]) {
        let buffered = SequenceSet(machine.queue.entries(of: events.map(\.sequenceNumber)).map(\.sequenceNumber))
        let unread = events.filter { !buffered.contains($0.sequenceNumber) }
        perform(.settle(buffered, as: .erased))
        perform(machine.expiredUnread(unread))
        settled(unread.map { SettledEvent($0, sends: 0) }, as: .erased)
        machine.forgetRead()
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
        case .countFound(let tallies): records.found(tallies, of: number)
        case .readStore(let position): read(behind: position)
        case .restFromReading: restFromReading()
        case .publishDepth: publishDepth()
        case .noteHeld(let range): noteHeld(range)
        case .endPurge(let number, let end): purgeWaiters.removeValue(forKey: number)?(end)
        case .build(let room): buildBatch(room)
        case .send(let batch): send(batch)
        case .runBoard: activationGate?.want()
        case .renewBoard(let opening): activationGate?.renew(opening)
        case .keep(let deadLetters, let cause): records.keep(deadLetters, of: id, cause: cause)
        case .holdForDeadLetters(let bytes): holdForDeadLetters(bytes)
        case .countRetried(let count): records.counts.count(.retried, count)
        case .report(let kind, let events, let cause):
            records.counts.report(EventLoss(kind, of: id, events: events, cause: cause))
        case .wait(let instant, let cause): backoff.close(until: instant, cause: cause)
        case .hold(let cause): manual.hold(cause: cause)
        case .endHold: manual.endHold()
        case .evaluateAgain: clock.turn.evaluate(self)
        case .evaluateForMore: evaluateForMore()
        }
    }

    private func evaluateForMore() {
        guard mayDelay else { return clock.turn.evaluate(self) }
        batchDelay.begin(on: clock.scheduler) { [weak self] in if let self { clock.turn.evaluate(self) } }
    }

    /// True if the dispatcher may wait a moment for more events: it is open, no barrier observes its depth, and no
    /// flush waits for it.
    private var mayDelay: Bool {
        barriers.isOpen && !barriers.isFlushing && !barriers.isDepthWatched
            && machine.mayGetMore(in: records.events, for: sender.capacity)
    }

    /// Builds a batch and sends it. Events that transformations drop are settled. If none is left, the dispatcher is
    /// evaluated again for the events after them.
    private func buildBatch(_ room: BatchRoom) {
        var batch = BatchDraft(
            room, for: sender.format, machine: machine, transformations, loadRules, records.counts,
            deadLetterRoom: records.deadLetters.room, networkConnectionType: clock.turn.host?.networkConnectionType)
        while let entry = machine.next(behind: batch.last, for: batch.builder, in: room), batch.add(entry) {}
        refuse(batch.refused)
        perform(.settle(batch.dropped, as: .transformedAway))
        if !batch.failed.isEmpty { perform(machine.transformationFailed(batch.failed, of: batch.failures, at: moment)) }
        if batch.builder.isEmpty, batch.hasLeftOut { clock.turn.evaluate(self) }
        perform(machine.built(&batch.builder, under: activationGate?.opening, at: clock.scheduler.now))
    }

    private func send(_ batch: Batch) {
        barriers.publishTaken(batch.events.count)
        measures.sent(events: batch.events.count)
        let sender = ObjectIdentifier(sender)
        self.sender.send(batch) { [weak self, number = batch.number] in self?.answered(number, $0, by: sender) }
    }

    private func answered(_ number: Int, _ result: SendResult, by sender: ObjectIdentifier) {
        clock.scheduler.preconditionOnScheduler()
        let (moment, batch) = (moment, machine.flights[number]?.batch)
        for (events, cause) in batch?.failures(result) ?? [] {
            records.trace.failed(events, of: self.number, cause: cause)
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
            now: clock.scheduler.now, wall: clock.scheduler.wall, chance: clock.chance(),
            deadLetterRoom: records.deadLetters.room)
    }

    private func read(behind position: SequenceNumber) {
        records.events.store.read(after: position) { [weak self] result in
            guard let self else { return }
            self.perform(self.machine.read(result, at: self.moment))
        }
    }

    private func restFromReading() {
        let scheduler = clock.scheduler
        _ = scheduler.schedule(at: backoff.retryAt ?? scheduler.now) { [weak self] in
            guard let self else { return }
            self.perform(self.machine.readingRested())
        }
    }

    // MARK: Settling

    /// Holds the dispatcher until there is room for a dead letter of `bytes`.
    private func holdForDeadLetters(_ bytes: Int) {
        let isNews = deadLetters.needed == nil
        deadLetters.close(needing: max(bytes, deadLetters.needed ?? 0))
        records.deadLetters.hold(id)
        guard isNews else { return }
        records.counts.report(EventLoss(.deadLettersFull, of: id, events: records.deadLetters.used.events))
    }

    private func openIfDeadLettersFit() {
        guard let needed = deadLetters.needed, records.deadLetters.room.fits(needed) else { return }
        deadLetters.open()
        records.deadLetters.release(id)
    }

    private func settle(_ sequenceNumbers: SequenceSet, as end: DeliveryOutcome) {
        guard !sequenceNumbers.isEmpty else { return }
        traceEarlier(sequenceNumbers, end)
        settled(machine.release(sequenceNumbers), as: end)
    }

    /// Settles events from before the dispatcher was added that its load rule refuses (Behaviour R4). They were never
    /// events of this dispatcher, so that they are neither counted nor traced.
    private func refuse(_ sequenceNumbers: SequenceSet) {
        guard !sequenceNumbers.isEmpty else { return }
        records.countOff(machine.release(sequenceNumbers), by: number)
        machine.refused(in: records.events)
        writeSettled()
        records.flushes.dropped([SequenceNumber](), of: id, position: machine.queue.position)
    }

    /// Records the outcome of events that an earlier daemon received (Behaviour O2).
    private func traceEarlier(_ sequenceNumbers: SequenceSet, _ end: DeliveryOutcome) {
        guard records.hasEarlier(in: sequenceNumbers) else { return }
        records.traceEarlier(machine.queue.entries(of: sequenceNumbers), by: number, as: end)
    }

    /// Counts and traces settled events, and schedules the write of their settlement. The events are no longer in the
    /// buffer, or never were.
    private func settled(_ events: [SettledEvent], as end: DeliveryOutcome) {
        guard !events.isEmpty else { return }
        records.settled(events, by: number, id, as: end)
        // The age of a replayed event says nothing about the delivery.
        let first = machine.queue.replay == nil ? events : events.filter { !$0.isReplayed }
        if end == .delivered { measures.delivered(first, at: records.events.presentStamp()) }
        machine.settled(events.count, as: end, in: records.events)
        writeSettled()
        // A flush covers what was pending when it began, not what a later rewind has made pending again.
        let replayed = machine.queue.replay == nil ? [] : events.filter(\.isReplayed).map(\.sequenceNumber)
        records.notifyFlushes(
            of: id, first.lazy.map(\.sequenceNumber), replayed: replayed, as: end, position: machine.queue.position)
    }

    /// Schedules the write of this dispatcher's settlements. The closure returns their state at the time of the write.
    func writeSettled() {
        records.settlements.settled(number) { [weak self] in self?.machine.queue.settled }
    }

    /// Counts the lost events of a damaged store as quarantined (Behaviour Q8).
    private func countLost(_ count: Int) {
        records.lost(count, of: number, id, keeping: machine.queue.entries)
        writeSettled()
        records.flushes.settled([], of: id, sent: false, position: machine.queue.position)
    }

    // MARK: Notifications

    private func publishDepth() {
        guard barriers.isDepthWatched else { return }
        let oldest = machine.queue.firstWaiting.map { records.events.ages.instant(of: $0.event.receivedStamp) }
        let depth = QueueDepth(pending: pending, oldestSince: oldest, dispatchLimit: machine.dispatchLimit)
        barriers.publish(depth)
    }

    private func noteHeld(_ range: ClosedRange<SequenceNumber>) {
        machine.held(for: barriers.blockingWords, range)
    }

    // MARK: The activation barrier

    /// Registers the activation barrier that the settings name, or removes it (Behaviour A9).
    func addActivationGate() {
        guard activationGate?.settings != settings.activationBarrier else { return }
        removeActivationGate()
        guard let barrier = settings.activationBarrier else { return }
        let gate = ActivationGate(
            barrier, dispatcherId: id, scheduler: clock.scheduler, turn: clock.turn
        ) { [weak self] in self?.waitAfterRefusal(&$0) ?? .zero }
        activationGate = gate
        machine.boardAdded(true)
        barriers.coordinator.register(gate, identity: gate.identity, scopes: [.dispatcher(id: id)])
        barriers.coordinator.setConfiguration(barrier.configuration, of: gate)
    }

    func removeActivationGate() {
        guard let gate = activationGate else { return }
        activationGate = nil
        machine.boardAdded(false)
        barriers.coordinator.unregister(gate)
        gate.end()
    }

    private func waitAfterRefusal(_ retries: inout RetryPolicy) -> Duration {
        retries.failed(
            base: settings.backoffBase, cap: settings.backoffCap, retryAfter: nil, chance: clock.chance())
    }
}
