import HeadgateData

/// Decides what a dispatcher does with its queue: what is read, what goes and when, and what an attempt's outcome means for
/// the events of a batch (Behaviour D1 to D9). Pure: facts go in, orders come out, and time, chance and the way's state are
/// handed in.
///
/// A look, from ``beginLook()`` on, is a series of steps. Each gives orders, which the dispatcher carries out before it asks
/// for the next: what they change outside, like the way or how much waits, the next step has to know.
struct DeliveryMachine {
    typealias Order = DeliveryOrder

    private(set) var settings: DispatcherSettings
    private(set) var queue: DispatcherQueue
    private(set) var counters = Counters<DispatcherCounter>()
    /// What the last failed attempt failed of; nil after a success.
    private(set) var lastError: String? {
        didSet { if lastError == nil { lastErrorAt = nil } }
    }
    /// The wall-clock time of the last failed attempt; nil after a success.
    private(set) var lastErrorAt: Timestamp?
    private var limit: BatchLimit
    private var flights: Flights
    private var purges = Purges()
    private var retries = RetryPolicy()
    /// For how long its destination has been heard (Behaviour D9).
    private var answerClock = AnswerClock()
    private var heldMarks = HeldMarks()
    private var look = Look.over
    private var readAhead = ReadAhead()
    private var state = State.taking
    /// The room for dead letters while an outcome is dealt with (Behaviour D10).
    private var letterRoom = LetterRoom.unlimited
    /// Whether a board stands before it (Behaviour A9).
    private var hasBoard = false

    private enum State {
        case taking
        /// The destination refused the dispatcher, and nothing goes until somebody sees to it (Behaviour D7).
        case held
        /// It takes no more batches (Behaviour D11).
        case stopping(wasHeld: Bool)
    }

    /// Where a look has come to.
    private enum Look {
        /// What is too old, or purged, goes first. Then batches do, unless that was all.
        case freshening(isAll: Bool)
        /// As long as the way is open, batch goes after batch.
        case sending(hasDropped: Bool)
        /// The dispatcher lays a batch.
        case laying
        /// No further batch goes: how much waits is told.
        case resting
        /// What waits, waits for a reason, which is noted.
        case marking
        case over
    }

    /// - Parameters:
    ///   - mostEvents: the most that a batch may have, by the settings and the sender's format.
    ///   - origin: the beginning of its deduplication keys (Behaviour K8).
    init(settings: DispatcherSettings, mostEvents: Int, queue: DispatcherQueue, origin: String = "") {
        flights = Flights(origin: origin)
        self.settings = settings
        self.queue = queue
        limit = BatchLimit(mostEvents)
    }

    // MARK: How things stand

    var batchesInFlight: Int { flights.count }

    /// What these take, as they are sent.
    var bytesInFlight: Int { flights.bytes }

    /// When a batch was sent; nil when it is not on its way.
    func sentAt(_ number: Int) -> Instant? { flights[number]?.batch.sentAt }

    /// When the batch was sent that an event is on its way in; nil when it is in none.
    func sentAt(of sequenceNumber: SequenceNumber) -> Instant? { flights.batch(with: sequenceNumber)?.sentAt }

    /// What an attempt failed of, by the events of its batch that it failed for.
    func failures(of number: Int, _ result: SendResult) -> [(events: SequenceSet, cause: String)] {
        flights[number]?.batch.failures(result) ?? []
    }

    /// Events queued and not in flight.
    func pending(in source: some EventSource) -> Int {
        max(0, source.unsettledCount(of: queue.number) - queue.inFlightCount)
    }

    /// Whether fewer events wait than a batch may have: each batch costs as much as many of them, so what is about to be stored may
    /// well go with it.
    func mayGetMore(in source: some EventSource, for capacity: SenderCapacity) -> Bool {
        let unsettled = source.unsettled(of: queue.number)
        let waiting = unsettled.events - queue.inFlightCount
        let whole = min(dispatchLimit, limit.current, capacity.events)
        guard !isStopping, waiting > 0, waiting < whole else { return false }
        // What they take in the store is about what they take in a batch.
        return unsettled.bytes - flights.bytes < settings.byteLimit
    }

    /// The most events that one batch may have: a part of a batch that was too large, or lost with its workers, needs no
    /// company (Behaviour D6, K3).
    var dispatchLimit: Int {
        limit.isHalf(queue.oldestWaiting) || queue.firstWaiting?.progress.mostInBatch != nil ? 1 : limit.most
    }

    /// When something in hand becomes too old, on the age scale; nil when nothing does.
    mutating func firstEnd(maxAge: Int64) -> Int64? { queue.firstEnd(maxAge: maxAge) }

    var isStopping: Bool {
        if case .stopping = state { true } else { false }
    }

    // MARK: Settings

    /// It goes on under other settings (Behaviour S3), also when it was being stopped.
    mutating func change(to settings: DispatcherSettings, mostEvents: Int) -> [Order] {
        self.settings = settings
        limit.reset(to: mostEvents)
        defer { state = .taking }
        switch state {
        case .held, .stopping(wasHeld: true): return [.endHold, .lookAgain]
        case .taking, .stopping(wasHeld: false): return [.lookAgain]
        }
    }

    /// A board stands before it from now on, or none.
    mutating func boardPlaced(_ isPlaced: Bool) { hasBoard = isPlaced }

    /// It takes no more batches.
    mutating func stop() {
        switch state {
        case .taking: state = .stopping(wasHeld: false)
        case .held: state = .stopping(wasHeld: true)
        case .stopping: break
        }
    }

    /// Somebody paused or resumed it: what the destination had said counts no more.
    mutating func holdReplaced() {
        switch state {
        case .held: state = .taking
        case .stopping: state = .stopping(wasHeld: false)
        case .taking: break
        }
    }

    // MARK: A look

    /// Begins a look at what may be sent, and at what waits.
    mutating func beginLook() { look = .freshening(isAll: false) }

    /// Begins a look at what is too old or purged, and no more.
    mutating func beginFreshening() { look = .freshening(isAll: true) }

    /// Whether a look is not over.
    var isLooking: Bool {
        if case .over = look { false } else { true }
    }

    /// What is to be done next in a look; nil when it is over.
    mutating func step(_ now: DeliveryConditions, from source: some EventSource) -> [Order]? {
        switch look {
        case .freshening(let isAll): freshen(isAll, now, source)
        case .sending(let hasDropped): sendNext(hasDropped, now, source)
        case .laying, .resting: rest(now, source)
        case .marking: mark(now, source)
        case .over: nil
        }
    }

    /// Has the next event in hand, and lets go of what is too old or purged.
    private mutating func freshen(_ isAll: Bool, _ now: DeliveryConditions, _ source: some EventSource) -> [Order] {
        // With a purge under way, some behind those that stay.
        let some = purges.isEmpty ? 1 : queue.count + 256
        let bytes = queue.waitingBytes + settings.mostBytesAhead
        let orders = readAhead.prepare(some, bytes: bytes, in: &queue, from: source).orders
        if let drop = drop(now, source) { return orders + [drop] }
        look = isAll ? .over : .sending(hasDropped: false)
        return now.isDepthWatched ? orders + [.tellDepth] : orders
    }

    /// Has a whole batch's events wait in hand, none of them too old (Behaviour D12) or purged, and then laid.
    private mutating func sendNext(
        _ hasDropped: Bool, _ now: DeliveryConditions, _ source: some EventSource
    ) -> [Order] {
        let (batches, pending) = (min(settings.inFlight, now.capacity.batches), pending(in: source))
        guard !isStopping, pending > 0, let openThrough = now.openThrough,
            let room = room(through: openThrough, pending: pending, now)
        else {
            look = .resting
            return hasDropped ? [.tellDepth] : []
        }
        let (isReady, orders) = readAhead.prepare(
            limit.current * batches, bytes: settings.mostBytesAhead, in: &queue, from: source)
        guard isReady else {
            look = .resting
            return orders
        }
        if let drop = drop(now, source) {
            look = .sending(hasDropped: true)
            return orders + [drop]
        }
        if hasDropped {
            // Barriers that look at the depth have a say in every batch (Behaviour B22).
            look = .sending(hasDropped: false)
            return orders + [.tellDepth]
        }
        look = .laying
        return orders + [.lay(room)]
    }

    /// What the next batch may have; nil while there is no room for one in flight.
    private func room(
        through newest: SequenceNumber, pending: Int, _ now: DeliveryConditions
    ) -> BatchRoom? {
        let (capacity, most) = (now.capacity, min(limit.current, now.capacity.events))
        var room = BatchRoom(most: most, through: newest, pending: pending)
        room.keepsOrder = capacity.keepsOrder
        // A barrier that looks at the depth lets whole batches through (Behaviour B22).
        let isDivided = capacity.isWindow && !now.isDepthWatched
        guard isDivided, let window = BatchWindow(settings, most: most) else {
            return flights.count < min(settings.inFlight, capacity.batches) ? room : nil
        }
        guard flights.count < min(window.batches, capacity.batches),
            let part = window.room(besideEvents: queue.inFlightCount, bytes: flights.bytes, pending: pending)
        else { return nil }
        (room.most, room.bytes, room.mostBytes) = (part.events, part.bytes, part.mostBytes)
        return room
    }

    private mutating func rest(_ now: DeliveryConditions, _ source: some EventSource) -> [Order] {
        var orders = prepareNext(from: source)
        look = .marking
        if now.isDepthWatched { orders.append(.tellDepth) }
        if hasBoard, !isStopping, pending(in: source) > 0 { orders.append(.wantBoard) }
        return orders
    }

    private mutating func mark(_ now: DeliveryConditions, _ source: some EventSource) -> [Order] {
        look = .over
        heldMarks.forget(through: queue.position)
        if heldMarks.isCrowded { heldMarks.tidy { [queue] in queue.mayHold($0) } }
        let ended = purges.isEmpty ? [] : purges.endOver(in: queue, unread: queue.unread(in: source))
        guard settings.annotateQueued != .none, now.openThrough == nil, pending(in: source) > 0,
            queue.oldestWaiting <= source.lastStored
        else { return ended }
        let held = flights.notAway(of: queue.oldestWaiting...source.lastStored).map(Order.noteHeld)
        return ended.isEmpty ? held : held + ended
    }

    /// What in hand is to go: what is too old, by the store's limit or its own time to live (Behaviour Q4, D12), or purged.
    /// What is on its way is left.
    private mutating func drop(_ now: DeliveryConditions, _ source: some EventSource) -> Order? {
        let old = queue.due(at: now.stamp, maxAge: source.maxAge)
        if !old.isEmpty { return .settle(old, as: .expired) }
        let purged = purges.isEmpty ? SequenceSet() : purges.take(from: queue)
        return purged.isEmpty ? nil : .settle(purged, as: .purged)
    }

    // MARK: Reading ahead

    /// The next event is to be in hand.
    mutating func prepareNext(from source: some EventSource) -> [Order] {
        readAhead.prepare(1, in: &queue, from: source).orders
    }

    /// So many events were stored for it behind another. Where it has read all before, it need not look at what others got
    /// meanwhile, which may no longer be in memory.
    mutating func stored(_ count: Int, behind previous: SequenceNumber, in source: some EventSource) {
        if queue.unread(in: source) == count { queue.skip(to: previous) }
    }

    /// Events were found too old that were not in hand.
    mutating func expiredUnread(_ events: [StoredEvent]) -> [Order] {
        let found = queue.settledUnread(events)
        return found.isEmpty ? [] : [.countFound(found)]
    }

    /// The store gave what was asked for; nil when it has nothing there.
    mutating func read(_ result: Result<Chunk?, StoreFault>, at moment: DeliveryMoment) -> [Order] {
        switch readAhead.answered(result, into: &queue) {
        case .unasked: []
        case .read: [.lookAgain]
        case .failed(let fault): [backOff(cause: "event store: \(fault.message)", at: moment), .restFromReading]
        }
    }

    /// The wait is over after which the store may be asked again.
    mutating func readingRested() -> [Order] {
        readAhead.rested()
        return [.lookAgain]
    }

    // MARK: Settling

    /// Events are let go of, as was ordered.
    mutating func release(_ sequenceNumbers: SequenceSet) -> [SettledEvent] { queue.remove(sequenceNumbers) }

    /// So many events are done with, and counted for the last time.
    mutating func settled(_ count: Int, as end: DeliveryEnd, in source: some EventSource) {
        counters.count(end.dispatcherCounter, count)
        // With nothing left to read, all that was read over is settled too.
        if queue.unread(in: source) == 0 { queue.skip(to: source.lastStored) }
    }

    /// Nobody will look after what is in hand any more: what is too old goes, and what the sweeper takes for settled.
    func expireAll(_ isTooOld: (StoredEvent) -> Bool) -> [Order] {
        let old = queue.entries.filter { !$0.progress.isInFlight && isTooOld($0.event) }
        return [.settle(SequenceSet(old.map(\.sequenceNumber)), as: .expired)]
    }

    // MARK: Purging

    /// Drops what waits, up to and including an event, but not what is on its way. Counted as evicted.
    mutating func purge(through newest: SequenceNumber) -> Purges.Number { purges.begin(through: newest, in: queue) }

    /// Ends all purges where they are: the dispatcher is being removed.
    mutating func abandonPurges() -> [Order] { purges.abandon() }

    // MARK: Sending

    /// The next event for a batch that is being laid; nil when it is to have no more.
    /// - Parameter last: the one that this told before for the same batch; nil to begin.
    mutating func next(behind last: SequenceNumber?, for builder: BatchBuilder, in room: BatchRoom) -> QueueEntry? {
        guard builder.hasRoom, let entry = queue.nextCandidate(behind: last, in: room) else { return nil }
        guard builder.mayTake(entry.progress) else { return nil }
        return limit.mayGo(entry.sequenceNumber, with: builder.firstSequenceNumber) ? entry : nil
    }

    /// What events that were held say about it as they go out now (Behaviour D13).
    func annotations(networkConnectionType: String?) -> QueuedAnnotations {
        QueuedAnnotations(
            settings.annotateQueued == .none ? HeldMarks() : heldMarks, of: settings.annotateQueued,
            networkConnectionType: networkConnectionType)
    }

    /// Barriers held all of these for these reasons.
    mutating func held(for reasons: [String], _ stretch: ClosedRange<SequenceNumber>) {
        heldMarks.hold(reasons, stretch)
    }

    /// A batch is laid; without events it goes nowhere, and the look rests.
    mutating func laid(
        _ builder: inout BatchBuilder, under opening: BoardOpening?, at now: Instant
    ) -> [Order] {
        guard !builder.isEmpty else { return [] }
        look = .sending(hasDropped: false)
        let batch = flights.begin(&builder, under: opening, at: now)
        queue.markInFlight(batch.sequenceNumbers)
        return [.send(batch), .tellDepth]
    }

    // MARK: After an attempt

    /// What came of a batch. One that is not on its way brings nothing.
    mutating func answered(_ number: Int, _ result: SendResult, at moment: DeliveryMoment) -> [Order] {
        guard let flight = flights.end(number) else { return [] }
        letterRoom = moment.letterRoom
        if result.isAnswer { answerClock.heard(from: flight.batch.sentAt, to: moment.now) }
        guard case .each(let outcomes) = result else { return outcome(of: flight, result, moment) + [.lookForMore] }
        return outcome(of: flight.batch, each: outcomes, moment) + [.lookForMore]
    }

    private mutating func outcome(
        of flight: Flights.Flight, _ result: SendResult, _ moment: DeliveryMoment
    ) -> [Order] {
        let batch = flight.batch
        let verdict = Verdict(result, events: batch.events.count, isOversize: batch.isOversize, settings: settings)
        if verdict == .delivered { return delivered(batch) }
        let (judged, orders) = takeBack(flight, after: result)
        guard verdict != .keep else { return orders }
        counters.count(.failed)
        (lastError, lastErrorAt) = (result.cause, moment.wall)
        guard !judged.events.isEmpty else { return orders }
        return orders + carryOut(verdict, of: judged, whole: batch, result, moment)
    }

    /// - Parameter judged: what of the batch this is for.
    private mutating func carryOut(
        _ verdict: Verdict, of judged: Batch, whole batch: Batch, _ result: SendResult, _ moment: DeliveryMoment
    ) -> [Order] {
        switch verdict {
        case .delivered, .keep: return []
        case .halve:
            // Both halves go again, no attempt charged (Behaviour D6).
            limit.halve(batch.events.count, through: batch.events.last?.sequenceNumber ?? 0)
            return []
        case .dead(let reason): return bury(judged, reason, LastAnswer(result), moment)
        case .hold(let cause):
            state = isStopping ? .stopping(wasHeld: true) : .held
            return [.hold(cause: cause)]
        case .reassign(let cause): return reassign(judged, cause, LastAnswer(result), moment)
        case .retry(let cause, let charged):
            let again = sendAgain(judged, charged: charged, LastAnswer(result), moment)
            let wait = backOff(
                cause: cause, retryAfter: result.retryAfter, isAnswered: result.isAnswer, at: moment)
            return again + [wait]
        }
    }

    /// Has another worker get the events of one that was lost: at once for the first time, then after a short wait, which a
    /// worker that dies at every start needs to do no harm. A lost worker is no failure of the destination, so the row of
    /// failures stays as it is (Behaviour K3, decision 62).
    private mutating func reassign(
        _ batch: Batch, _ cause: String, _ answer: LastAnswer, _ moment: DeliveryMoment
    ) -> [Order] {
        queue.takeBack(batch.sequenceNumbers) { $0.lost(inBatchOf: batch.events.count) }
        let orders = sendAgain(batch, charged: true, answer, moment)
        guard queue.entries(of: batch.sequenceNumbers).contains(where: { $0.progress.losses > 1 }) else {
            return orders
        }
        let wait = min(settings.backoffBase, settings.backoffCap) * moment.chance
        return orders + [.wait(until: moment.now + wait, cause: cause)]
    }

    /// Where a destination tells the events of a batch apart, what was taken is settled though the rest was not; the rest
    /// waits, all together, so that a partial success skips no wait (Behaviour K3, K4).
    private mutating func outcome(
        of batch: Batch, each outcomes: [EventOutcome], _ moment: DeliveryMoment
    ) -> [Order] {
        let parts = batch.parts(by: outcomes)
        var orders: [Order] = []
        for part in parts where part.outcome.isDelivery {
            if part.outcome == .duplicate { orders += noteDuplicates(part.batch) }
            orders += delivered(part.batch)
        }
        let failures = parts.filter { !$0.outcome.isDelivery }
        guard let first = failures.first else { return orders }
        counters.count(.failed)
        (lastError, lastErrorAt) = (first.outcome.cause, moment.wall)
        // This is another answer than a 401 (Behaviour A9).
        for failure in failures {
            queue.takeBack(failure.batch.sequenceNumbers) { progress in
                progress.wasUnauthorized = false
                progress.heard()
            }
        }
        var cause: String?
        for (outcome, part) in failures {
            switch Verdict(outcome, isOversize: part.isOversize, settings: settings) {
            case .retry(let why, let charged):
                orders += sendAgain(part, charged: charged, LastAnswer(outcome), moment)
                cause = cause ?? why
            case .dead(let reason): orders += bury(part, reason, LastAnswer(outcome), moment)
            case .delivered, .halve, .hold, .keep, .reassign: break
            }
        }
        guard let cause else { return orders }
        return orders + [backOff(cause: cause, isAnswered: outcomes.contains(where: \.isAnswer), at: moment)]
    }

    /// Counts the events that the destination had before their first attempt. An event that an earlier daemon received may
    /// have been sent by that one.
    private mutating func noteDuplicates(_ batch: Batch) -> [Order] {
        let first = queue.entries(of: batch.sequenceNumbers).filter {
            $0.progress.sends == 1 && !queue.isOlder($0.sequenceNumber)
        }
        counters.count(.duplicates, first.count)
        return first.isEmpty ? [] : [.tellDuplicates(first.count)]
    }

    /// A batch, or what was taken of it.
    private mutating func delivered(_ batch: Batch) -> [Order] {
        lastError = nil
        retries.succeeded()
        limit.succeeded(batch.events.count)
        return [.settle(batch.sequenceNumbers, as: .delivered)]
    }

    /// Takes the events of a failed batch back. A 401 makes the board run again, and events go once more before they are
    /// judged; any other answer in between, and they may again (Behaviour A9).
    /// - Returns: what of the batch is to be judged.
    private mutating func takeBack(_ flight: Flights.Flight, after result: SendResult) -> (Batch, [Order]) {
        let (batch, sequenceNumbers) = (flight.batch, flight.batch.sequenceNumbers)
        guard hasBoard, let opening = flight.opening, result.isUnauthorized else {
            queue.takeBack(sequenceNumbers) { progress in
                progress.wasUnauthorized = false
                if result.isAnswer { progress.heard() }
            }
            return (batch, [])
        }
        let wereUnauthorized = queue.entries(of: sequenceNumbers).filter(\.progress.wasUnauthorized)
        // What must go once goes once (Behaviour D2).
        let judged = batch.isOversize ? sequenceNumbers : SequenceSet(wereUnauthorized.map(\.sequenceNumber))
        queue.takeBack(sequenceNumbers) { $0.wasUnauthorized = true }
        var part = batch
        part.events.removeAll { !judged.contains($0.sequenceNumber) }
        return (part, [.renewBoard(sentUnder: opening)])
    }

    /// Has events go once more, but for those that have been tried often enough or for long enough (Behaviour D9).
    private mutating func sendAgain(
        _ batch: Batch, charged: Bool, _ answer: LastAnswer, _ moment: DeliveryMoment
    ) -> [Order] {
        let heard = answerClock.time(at: moment.now)
        queue.takeBack(batch.sequenceNumbers) { progress in
            progress.firstFailure = progress.firstFailure ?? moment.wall
            guard charged else { return }
            progress.attempts += 1
            progress.firstCharge = progress.firstCharge ?? heard
        }
        let failed = queue.entries(of: batch.sequenceNumbers)
        let worn = failed.filter { charged && $0.progress.exhaustion(settings, heard: heard) == .maxAttempts }
        let old = failed.filter { charged && $0.progress.exhaustion(settings, heard: heard) == .maxRetryAge }
        let retried = failed.count - worn.count - old.count
        counters.count(.retried, retried)
        return bury(worn, .maxAttempts, answer, moment) + bury(old, .maxRetryAge, answer, moment)
            + [.countRetried(retried)]
    }

    /// Waits after a failure (Behaviour D4, D5, D8).
    /// - Parameter isAnswered: whether it is the destination's answer that makes it wait.
    private mutating func backOff(
        cause: String, retryAfter: Duration? = nil, isAnswered: Bool = false, at moment: DeliveryMoment
    ) -> Order {
        let wait = retries.failed(
            base: settings.backoffBase, cap: settings.backoffCap, retryAfter: retryAfter, chance: moment.chance)
        (lastError, lastErrorAt) = (cause, moment.wall)
        if isAnswered { answerClock.heard(from: moment.now, to: moment.now + wait) }
        return .wait(until: moment.now + wait, cause: cause)
    }

    // MARK: Giving up

    /// Dead-letters events before they are sent: a transformation with `on_error: "drop"` failed on them
    /// (Behaviour P4).
    mutating func transformationFailed(
        _ failed: SequenceSet, of transformations: [String], at moment: DeliveryMoment
    ) -> [Order] {
        let fault = "transformation \(transformations.joined(separator: ", ")) failed"
        (lastError, lastErrorAt) = (fault, moment.wall)
        return bury(queue.entries(of: failed), .transformation, LastAnswer(unsent: fault), moment)
    }

    /// Gives up the events of a batch after the attempt that killed them.
    private mutating func bury(
        _ batch: Batch, _ reason: DeadLetter.Reason, _ answer: LastAnswer, _ moment: DeliveryMoment
    ) -> [Order] {
        let sequenceNumbers = batch.sequenceNumbers
        if answer.wasSent { queue.takeBack(sequenceNumbers) { $0.attempts += 1 } }
        return bury(queue.entries(of: sequenceNumbers), reason, answer, moment)
    }

    /// Puts events aside as dead letters, as they lay in the queue. Those for which there is no room stay there, and the dispatcher
    /// is held (Behaviour D10).
    private mutating func bury(
        _ all: [QueueEntry], _ reason: DeadLetter.Reason, _ answer: LastAnswer, _ moment: DeliveryMoment
    ) -> [Order] {
        let dying = all.prefix { letterRoom.take($0.event.record.count) }
        let held = all.dropFirst(dying.count).first.map { Order.holdForLetters(bytes: $0.event.record.count) }
        return putAside(Array(dying), reason, answer, moment) + (held.map { [$0] } ?? [])
    }

    private func putAside(
        _ entries: [QueueEntry], _ reason: DeadLetter.Reason, _ answer: LastAnswer, _ moment: DeliveryMoment
    ) -> [Order] {
        guard !entries.isEmpty else { return [] }
        let letters = entries.map { entry in
            DeadLetter(
                dispatcher: queue.number, sequenceNumber: entry.sequenceNumber, reason: reason,
                status: answer.status, answer: answer.text, attempts: entry.progress.attempts,
                firstFailedAt: entry.progress.firstFailure ?? moment.wall, diedAt: moment.wall,
                record: entry.event.record)
        }
        return [.keep(letters), .settle(SequenceSet(entries.map(\.sequenceNumber)), as: .dead)]
    }
}
