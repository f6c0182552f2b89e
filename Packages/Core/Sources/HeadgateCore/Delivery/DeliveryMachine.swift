import HeadgateData

/// The decisions of a dispatcher: which events to read, when to send which batch, and what the result of an attempt
/// means for its events (Behaviour D1 to D9). Pure: facts go in, orders come out. Time, random numbers and the state of
/// barriers are parameters.
///
/// An evaluation, from ``beginEvaluation()`` on, is a series of steps. Each step returns orders, which the dispatcher
/// executes before it requests the next step, because they may change conditions that the next step depends on.
struct DeliveryMachine {
    typealias Order = DeliveryOrder

    private(set) var settings: DispatcherSettings
    private(set) var queue: DispatcherQueue
    private(set) var counters = Counters<DispatcherCounter>()
    /// The last failure, the waits after failures, and the time for which the destination has been answering.
    private(set) var attempts = AttemptHistory()
    private var limit: BatchLimit
    /// The batches in flight.
    private(set) var flights: BatchesInFlight
    private var purges = Purges()
    private var heldMarks = HeldRanges()
    private var evaluation = EvaluationState.over
    private var readAhead = ReadAhead()
    private var state = SendingState.taking
    /// The room for dead letters while the result of an attempt is processed (Behaviour D10).
    private var deadLetterRoom = DeadLetterRoom.unlimited
    /// True if an activation barrier is configured (Behaviour A9).
    private var hasBoard = false
    /// True while the dispatcher is to become quiet for a rewind: it sends no batch (Behaviour R2). It is not a case of
    /// ``state``, because a refusal, a stop and new settings may change that state during a rewind.
    private var isRewinding = false

    /// - Parameters:
    ///   - settings: the dispatcher's settings.
    ///   - mostEvents: the most events in a batch, by the settings and the sender's format.
    ///   - queue: the dispatcher's queue.
    ///   - origin: the prefix of the deduplication keys (Behaviour K8).
    init(settings: DispatcherSettings, mostEvents: Int, queue: DispatcherQueue, origin: String = "") {
        flights = BatchesInFlight(origin: origin)
        self.settings = settings
        self.queue = queue
        limit = BatchLimit(mostEvents)
    }

    // MARK: Status

    /// Returns the number of pending events: queued and not in flight.
    func pending(in source: some EventSource) -> Int {
        max(0, source.unsettledCount(of: queue.number) - queue.inFlightCount)
    }

    /// Returns true if less than a full batch is pending. A batch costs as much as many events, so it is worth waiting
    /// for events that are about to be stored.
    func mayGetMore(in source: some EventSource, for capacity: SenderCapacity) -> Bool {
        let unsettled = source.unsettled(of: queue.number)
        let waiting = unsettled.events - queue.inFlightCount
        let whole = min(dispatchLimit, limit.current, capacity.events)
        guard !isStopping, waiting > 0, waiting < whole else { return false }
        // An event's size in the store is close to its size in a batch.
        return unsettled.bytes - flights.bytes < settings.byteLimit
    }

    /// The number of pending events that is enough for a batch. It is 1 for part of a batch that was too large, or that
    /// was lost with its worker (Behaviour D6, K3).
    var dispatchLimit: Int {
        limit.isHalf(queue.oldestWaiting) || queue.firstWaiting?.progress.mostInBatch != nil ? 1 : limit.most
    }

    /// Returns the time at which a buffered event becomes too old, on the age scale, or nil if none does.
    mutating func firstEnd(maxAge: Int64) -> Int64? { queue.firstEnd(maxAge: maxAge) }

    var isStopping: Bool { state.isStopping || isRewinding }

    // MARK: Rewinding

    /// Sends no more batches, until ``rewound(to:origin:isStart:)`` or ``endRewind()``.
    mutating func beginRewind() { isRewinding = true }

    /// True if nothing is in flight, being purged or being read.
    var isQuiet: Bool { flights.count == 0 && purges.isEmpty && !readAhead.isReading }

    /// Continues with the queue as it is after a rewind. The machine must be quiet (``isQuiet``).
    /// - Parameter isStart: true for the start of a new dispatcher, which is no rewind (Behaviour R4).
    mutating func rewound(to queue: DispatcherQueue, origin: String, isStart: Bool) {
        self.queue = queue
        flights.setOrigin(origin)
        readAhead = ReadAhead()
        if !isStart { counters.count(.rewinds) }
        isRewinding = false
    }

    /// Continues as before, because the rewind was refused.
    mutating func endRewind() { isRewinding = false }

    // MARK: Settings

    /// Applies new settings (Behaviour S3). A dispatcher that was being removed continues.
    mutating func change(to settings: DispatcherSettings, mostEvents: Int) -> [Order] {
        self.settings = settings
        limit.reset(to: mostEvents)
        defer { state.settingsChanged() }
        return state.isRefused ? [.endHold, .evaluateAgain] : [.evaluateAgain]
    }

    /// Records whether an activation barrier is configured.
    mutating func boardAdded(_ isAdded: Bool) { hasBoard = isAdded }

    /// Stops sending batches.
    mutating func stop() { state.stop() }

    /// Stops sending batches and ends all purges early, because the dispatcher is being removed.
    mutating func leave() -> [Order] {
        state.leave()
        return purges.cancel()
    }

    /// True from the removal of the dispatcher on, until it is added again.
    var isLeaving: Bool { state.isLeaving }

    /// Records that an operator paused or resumed the dispatcher: a refusal by the destination no longer holds it.
    mutating func holdReplaced() { state.setRefused(false) }

    // MARK: Evaluation

    /// Begins an evaluation: removes expired events, sends batches, and records why events are held.
    mutating func beginEvaluation() { evaluation = .droppingExpired(isAll: false) }

    /// Begins an evaluation that only removes events that are too old or purged.
    mutating func beginRemovingExpired() { evaluation = .droppingExpired(isAll: true) }

    /// True while an evaluation is running.
    var isEvaluating: Bool {
        if case .over = evaluation { false } else { true }
    }

    /// Returns the orders of the next step of an evaluation, or nil if it is over.
    mutating func step(_ now: DeliveryConditions, from source: some EventSource) -> [Order]? {
        switch evaluation {
        case .droppingExpired(let isAll): dropExpired(isAll, now, source)
        case .sending(let hasDropped): sendNext(hasDropped, now, source)
        case .building, .resting: rest(now, source)
        case .marking: mark(now, source)
        case .over: nil
        }
    }

    /// Buffers the next event and removes events that are too old or purged.
    private mutating func dropExpired(_ isAll: Bool, _ now: DeliveryConditions, _ source: some EventSource) -> [Order] {
        // During a purge, read beyond the events that stay.
        let some = purges.isEmpty ? 1 : queue.count + 256
        let bytes = queue.waitingBytes + settings.mostBytesAhead
        let orders = readAhead.prepare(some, bytes: bytes, in: &queue, from: source).orders
        if let drop = drop(now, source) { return orders + [drop] }
        evaluation = isAll ? .over : .sending(hasDropped: false)
        return now.isDepthWatched ? orders + [.publishDepth] : orders
    }

    /// Buffers the events of a whole batch, removes those that are too old (Behaviour D12) or purged, and orders a
    /// batch.
    private mutating func sendNext(
        _ hasDropped: Bool, _ now: DeliveryConditions, _ source: some EventSource
    ) -> [Order] {
        let (batches, pending) = (min(settings.inFlight, now.capacity.batches), pending(in: source))
        guard !isStopping, pending > 0, let openThrough = now.openThrough,
            let room = room(through: openThrough, pending: pending, now)
        else {
            evaluation = .resting
            return hasDropped ? [.publishDepth] : []
        }
        let (isReady, orders) = readAhead.prepare(
            limit.current * batches, bytes: settings.mostBytesAhead, in: &queue, from: source)
        guard isReady else {
            evaluation = .resting
            return orders
        }
        if let drop = drop(now, source) {
            evaluation = .sending(hasDropped: true)
            return orders + [drop]
        }
        if hasDropped {
            // Barriers that observe the depth decide about every batch (Behaviour B22).
            evaluation = .sending(hasDropped: false)
            return orders + [.publishDepth]
        }
        evaluation = .building
        return orders + [.build(room)]
    }

    /// Returns the room for the next batch, or nil if no more may be in flight.
    private func room(through newest: SequenceNumber, pending: Int, _ now: DeliveryConditions) -> BatchRoom? {
        var room = BatchRoom(most: min(limit.current, now.capacity.events), through: newest, pending: pending)
        room.keepsOrder = now.capacity.keepsOrder
        let inFlight = (batches: flights.count, events: queue.inFlightCount, bytes: flights.bytes)
        return room.beside(inFlight, settings, now)
    }

    private mutating func rest(_ now: DeliveryConditions, _ source: some EventSource) -> [Order] {
        var orders = prepareNext(from: source)
        evaluation = .marking
        if now.isDepthWatched { orders.append(.publishDepth) }
        if hasBoard, !isStopping, pending(in: source) > 0 { orders.append(.runBoard) }
        return orders
    }

    private mutating func mark(_ now: DeliveryConditions, _ source: some EventSource) -> [Order] {
        evaluation = .over
        heldMarks.forget(through: queue.position)
        if heldMarks.needsTidying { heldMarks.tidy { [queue] in queue.mayHold($0) } }
        let ended = purges.isEmpty ? [] : purges.endOver(in: queue, unread: queue.unread(in: source))
        guard settings.annotateQueued != .none, now.openThrough == nil, pending(in: source) > 0,
            queue.oldestWaiting <= source.lastStored
        else { return ended }
        let held = flights.notInFlight(of: queue.oldestWaiting...source.lastStored).map(Order.noteHeld)
        return ended.isEmpty ? held : held + ended
    }

    /// Returns an order for buffered events that are to be removed: events that are too old by the store's limit or
    /// their own time to live (Behaviour Q4, D12), or purged events. Events in flight are kept.
    private mutating func drop(_ now: DeliveryConditions, _ source: some EventSource) -> Order? {
        let old = queue.due(at: now.stamp, maxAge: source.maxAge)
        if !old.isEmpty { return .settle(old, as: .expired) }
        let purged = purges.isEmpty ? SequenceSet() : purges.take(from: queue)
        return purged.isEmpty ? nil : .settle(purged, as: .purged)
    }

    // MARK: Reading ahead

    /// Buffers the next event.
    mutating func prepareNext(from source: some EventSource) -> [Order] {
        readAhead.prepare(1, in: &queue, from: source).orders
    }

    /// Records that `count` events for this dispatcher were stored after `previous`. If the dispatcher has read
    /// everything before them, it skips other dispatchers' events, which may no longer be in memory.
    mutating func stored(_ count: Int, behind previous: SequenceNumber, in source: some EventSource) {
        if queue.unread(in: source) == count { queue.skip(to: previous) }
    }

    /// Counts events that the sweeper found too old before they were buffered.
    mutating func expiredUnread(_ events: [StoredEvent]) -> [Order] {
        let found = queue.settledUnread(events)
        return found.isEmpty ? [] : [.countFound(found)]
    }

    /// Drops events that were read ahead, because some of them are erased.
    mutating func forgetRead() { queue.forgetChunk() }

    /// Processes the answer of the store to a read; the chunk is nil if the store has no more events.
    mutating func read(_ result: Result<Chunk?, StoreFault>, at moment: DeliveryMoment) -> [Order] {
        switch readAhead.answered(result, into: &queue) {
        case .unrequested: []
        case .read: [.evaluateAgain]
        case .failed(let fault): [backOff(cause: "event store: \(fault.message)", at: moment), .restFromReading]
        }
    }

    /// Ends the wait after a failed read, so that the store is asked again.
    mutating func readingRested() -> [Order] {
        readAhead.rested()
        return [.evaluateAgain]
    }

    // MARK: Settling

    /// Removes settled events from the buffer.
    mutating func release(_ sequenceNumbers: SequenceSet) -> [SettledEvent] { queue.remove(sequenceNumbers) }

    /// Counts settled events.
    mutating func settled(_ count: Int, as end: DeliveryOutcome, in source: some EventSource) {
        counters.count(end.dispatcherCounter, count)
        refused(in: source)
    }

    /// Records that events were settled that the load rule refuses.
    mutating func refused(in source: some EventSource) {
        // With nothing left to read, all events that were skipped are settled as well.
        if queue.unread(in: source) == 0 { queue.skip(to: source.lastStored) }
    }

    /// Settles the buffered events that are too old or that the sweeper considers settled, for a dispatcher that is
    /// being closed.
    func expireAll(_ isTooOld: (StoredEvent) -> Bool) -> [Order] {
        let old = queue.entries.filter {
            !$0.progress.isInFlight && queue.isSwept($0.sequenceNumber) && isTooOld($0.event)
        }
        return [.settle(SequenceSet(old.map(\.sequenceNumber)), as: .expired)]
    }

    // MARK: Purging

    /// Begins to drop the pending events up to `newest`. Events in flight are kept.
    mutating func purge(through newest: SequenceNumber) -> Purges.Number { purges.begin(through: newest, in: queue) }

    // MARK: Sending

    /// Returns the next event for a batch under construction, or nil if the batch is complete.
    /// - Parameters:
    ///   - last: the previous result for the same batch; nil for the first call.
    ///   - builder: the batch under construction.
    ///   - room: the limits of the batch.
    mutating func next(behind last: SequenceNumber?, for builder: BatchBuilder, in room: BatchRoom) -> QueueEntry? {
        guard builder.hasRoom, let entry = queue.nextCandidate(behind: last, in: room) else { return nil }
        guard builder.mayTake(entry.progress) else { return nil }
        return limit.mayJoin(entry.sequenceNumber, with: builder.firstSequenceNumber) ? entry : nil
    }

    /// Returns the annotations for events that were held and are sent now (Behaviour D13).
    func annotations(networkConnectionType: String?) -> QueuedAnnotations {
        QueuedAnnotations(
            settings.annotateQueued == .none ? HeldRanges() : heldMarks, of: settings.annotateQueued,
            networkConnectionType: networkConnectionType)
    }

    /// Records that barriers held a range of events for some reasons.
    mutating func held(for reasons: [String], _ range: ClosedRange<SequenceNumber>) {
        heldMarks.hold(reasons, range)
    }

    /// Sends a batch that has been built. An empty batch is not sent, and the evaluation sends no more.
    mutating func built(
        _ builder: inout BatchBuilder, under opening: BoardOpening?, at now: Instant
    ) -> [Order] {
        guard !builder.isEmpty else { return [] }
        evaluation = .sending(hasDropped: false)
        let batch = flights.begin(&builder, under: opening, at: now)
        queue.markInFlight(batch.sequenceNumbers)
        return [.send(batch), .publishDepth]
    }

    // MARK: After an attempt

    /// Processes the result of a batch. A batch that is not in flight is ignored.
    mutating func answered(_ number: Int, _ result: SendResult, at moment: DeliveryMoment) -> [Order] {
        guard let flight = flights.end(number) else { return [] }
        deadLetterRoom = moment.deadLetterRoom
        if result.isAnswer { attempts.answering(from: flight.batch.sentAt, to: moment.now) }
        guard case .each(let outcomes) = result else { return outcome(of: flight, result, moment) + [.evaluateForMore] }
        return outcome(of: flight.batch, each: outcomes, moment) + [.evaluateForMore]
    }

    private mutating func outcome(
        of flight: BatchesInFlight.Flight, _ result: SendResult, _ moment: DeliveryMoment
    ) -> [Order] {
        let batch = flight.batch
        let verdict = Verdict(result, events: batch.events.count, isOversize: batch.isOversize, settings: settings)
        if case .partlyRejected(let events, let message) = result {
            let rejected = min(events, batch.events.count)
            return note(.partiallyRejected, .rejected, rejected, cause: message) + delivered(batch)
        }
        if verdict == .delivered { return delivered(batch) }
        let (judged, orders) = queue.takeBack(flight, after: result, hasBoard: hasBoard)
        guard verdict != .keep else { return orders }
        counters.count(.failed)
        attempts.failed(result.cause, at: moment.wall)
        guard !judged.events.isEmpty else { return orders }
        return orders + carryOut(verdict, of: judged, whole: batch, result, moment)
    }

    /// Returns the orders that follow from a verdict about the part `judged` of a batch.
    private mutating func carryOut(
        _ verdict: Verdict, of judged: Batch, whole batch: Batch, _ result: SendResult, _ moment: DeliveryMoment
    ) -> [Order] {
        switch verdict {
        case .delivered, .keep: return []
        case .halve:
            // Both halves are sent again without a charged attempt (Behaviour D6).
            limit.halve(batch.events.count, through: batch.events.last?.sequenceNumber ?? 0)
            return []
        case .dead(let reason): return deadLetter(judged, reason, LastAnswer(result), moment)
        case .hold(let cause):
            state.setRefused(true)
            return [.hold(cause: cause)]
        case .reassign(let cause): return reassign(judged, cause, LastAnswer(result), moment)
        case .retry(let cause, let charged):
            let again = sendAgain(judged, charged: charged, LastAnswer(result), moment)
            let wait = backOff(
                cause: cause, retryAfter: result.retryAfter, isAnswered: result.isAnswer, at: moment)
            return again + [wait]
        }
    }

    /// Gives the events of a lost worker to another one: the first time at once, then after a short wait, which limits
    /// the damage of a worker that crashes at every start. A lost worker is not a failure of the destination, so the
    /// number of consecutive failures is unchanged. The last allowed attempt is only charged to an event that was
    /// alone: another event of the batch may have killed the worker (Behaviour K3, decision 62).
    private mutating func reassign(
        _ batch: Batch, _ cause: String, _ answer: LastAnswer, _ moment: DeliveryMoment
    ) -> [Order] {
        queue.takeBack(batch.sequenceNumbers) { $0.lost(inBatchOf: batch.events.count) }
        let orders = sendAgain(batch, charged: true, keepsLast: batch.events.count > 1, answer, moment)
        guard queue.entries(of: batch.sequenceNumbers).contains(where: { $0.progress.losses > 1 }) else {
            return orders
        }
        let wait = min(settings.backoffBase, settings.backoffCap) * moment.chance
        return orders + [.wait(until: moment.now + wait, cause: cause)]
    }

    /// Processes the result of a destination that reports on each event. Delivered events are settled even if others
    /// failed. The failed events wait together, so that a partial success skips no wait (Behaviour K3, K4).
    private mutating func outcome(
        of batch: Batch, each outcomes: [EventOutcome], _ moment: DeliveryMoment
    ) -> [Order] {
        let parts = batch.parts(by: outcomes)
        var orders: [Order] = []
        for part in parts where part.outcome.isDelivery {
            if part.outcome == .duplicate {
                orders += note(.duplicates, .duplicates, queue.firstSends(among: part.batch.sequenceNumbers))
            }
            orders += delivered(part.batch)
        }
        let failures = parts.filter { !$0.outcome.isDelivery }
        guard let first = failures.first else { return orders }
        counters.count(.failed)
        attempts.failed(first.outcome.cause, at: moment.wall)
        for failure in failures { queue.takeBackAnswered(failure.batch.sequenceNumbers) }
        var cause: String?
        for (outcome, part) in failures {
            switch Verdict(outcome, isOversize: part.isOversize, settings: settings) {
            case .retry(let why, let charged):
                orders += sendAgain(part, charged: charged, LastAnswer(outcome), moment)
                cause = cause ?? why
            case .dead(let reason): orders += deadLetter(part, reason, LastAnswer(outcome), moment)
            case .delivered, .halve, .hold, .keep, .reassign: break
            }
        }
        guard let cause else { return orders }
        return orders + [backOff(cause: cause, isAnswered: outcomes.contains(where: \.isAnswer), at: moment)]
    }

    /// Counts and logs events that the destination, by its own report, did not store for this attempt (Behaviour K4,
    /// K7).
    private mutating func note(
        _ counter: DispatcherCounter, _ kind: EventLoss.Kind, _ events: Int, cause: String? = nil
    ) -> [Order] {
        counters.count(counter, events)
        return events > 0 ? [.report(kind, events: events, cause: cause)] : []
    }

    /// Records the delivery of a batch or a part of it.
    private mutating func delivered(_ batch: Batch) -> [Order] {
        attempts.succeeded()
        limit.succeeded(batch.events.count)
        return [.settle(batch.sequenceNumbers, as: .delivered)]
    }

    /// Sends events again, and dead-letters those that have reached the limit of attempts or of time (Behaviour D9).
    /// - Parameter keepsLast: true if the last allowed attempt is not charged.
    private mutating func sendAgain(
        _ batch: Batch, charged: Bool, keepsLast: Bool = false, _ answer: LastAnswer, _ moment: DeliveryMoment
    ) -> [Order] {
        let answered = attempts.answeredTime(at: moment.now)
        let failed = queue.takeBack(
            batch.sequenceNumbers, failedAt: moment.wall, charged: charged ? answered : nil, keepsLast: keepsLast,
            settings)
        counters.count(.retried, failed.retried)
        return deadLetter(failed.worn, .maxAttempts, answer, moment)
            + deadLetter(failed.old, .maxRetryAge, answer, moment)
            + [.countRetried(failed.retried)]
    }

    /// Begins a wait after a failure (Behaviour D4, D5, D8), which an answer of the destination caused if `isAnswered`.
    private mutating func backOff(
        cause: String, retryAfter: Duration? = nil, isAnswered: Bool = false, at moment: DeliveryMoment
    ) -> Order {
        let wait = attempts.backOff(settings, cause: cause, retryAfter: retryAfter, isAnswered: isAnswered, at: moment)
        return .wait(until: moment.now + wait, cause: cause)
    }

    // MARK: Dead letters

    /// Dead-letters events unsent, because a transformation with `on_error: "drop"` failed (Behaviour P4).
    mutating func transformationFailed(
        _ failed: SequenceSet, of transformations: [String], at moment: DeliveryMoment
    ) -> [Order] {
        deadLetterRoom = moment.deadLetterRoom
        let fault = "transformation \(transformations.joined(separator: ", ")) failed"
        attempts.failed(fault, at: moment.wall)
        return deadLetter(queue.entries(of: failed), .transformation, LastAnswer(unsent: fault), moment)
    }

    /// Dead-letters the events of a batch after their last attempt.
    private mutating func deadLetter(
        _ batch: Batch, _ reason: DeadLetter.Reason, _ answer: LastAnswer, _ moment: DeliveryMoment
    ) -> [Order] {
        let sequenceNumbers = batch.sequenceNumbers
        if answer.wasSent { queue.takeBack(sequenceNumbers) { $0.attempts += 1 } }
        return deadLetter(queue.entries(of: sequenceNumbers), reason, answer, moment)
    }

    private mutating func deadLetter(
        _ entries: [QueueEntry], _ reason: DeadLetter.Reason, _ answer: LastAnswer, _ moment: DeliveryMoment
    ) -> [Order] {
        DeadLettering(dispatcher: queue.number, reason: reason, answer: answer, moment: moment)
            .orders(for: entries, in: &deadLetterRoom)
    }
}
