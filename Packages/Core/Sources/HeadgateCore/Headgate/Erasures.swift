import HeadgateData

/// The erasures of events for all dispatchers, and of dead letters, one at a time (Behaviour E1, E2).
///
/// The store is scanned while dispatchers continue, until all events of the erasure are found, or as many as one part
/// holds. Then the dispatchers with pending events of the part finish their batches in flight: first those with a slow
/// destination, while the others continue, then the others. When nothing is in flight, the store records that the events
/// are erased. The scan continues with the next part. After the last part the bytes are removed from all files, a step at
/// a time.
///
/// Once the first part is recorded, the erasure is finished even after a kill. An erasure of several parts is saved
/// before its first part is recorded.
final class Erasures {
    private let events: EventQueue
    private let dispatchers: Dispatchers
    private let records: OutcomeRecords
    private let deadLetters: DeadLetterOperations
    private let rewinds: Rewinds
    private let kept: StoredValues
    /// Called when ``inProgress`` has changed.
    var onProgress: () -> Void = {}
    /// The subject that emits erasures that an earlier process began, once they are finished.
    let finished = PulseSubject<FinishedErasure>()
    /// The size at which a part is full.
    var part = ErasureScan.Part()
    private var waiting: [Erasure] = []
    private var current: Erasure?

    /// The pause after a failure of the store, or while a dispatcher is being rewound.
    private static let pause = Duration.seconds(1)
    private static let deadLettersPerPage = 64
    /// The age of a batch in flight at which its destination counts as slow.
    private static let slow = Duration.seconds(1)

    init(
        events: EventQueue, dispatchers: Dispatchers, records: OutcomeRecords, deadLetters: DeadLetterOperations,
        rewinds: Rewinds, kept: StoredValues
    ) {
        (self.events, self.dispatchers, self.records) = (events, dispatchers, records)
        (self.deadLetters, self.rewinds, self.kept) = (deadLetters, rewinds, kept)
    }

    /// The progress of the erasure under way; nil if there is none.
    var inProgress: ErasureProgress? { current?.progress }

    /// Erases the events for which a rule is true, or only counts them. `then` is called later.
    /// - Parameter request: the erasure as the store keeps it. Its last event is set when the erasure begins.
    func erase(
        _ rule: ResolvedRule, _ request: KeptErasure, isDryRun: Bool,
        then: @escaping (Result<ErasureAnswer, ErasureRefusal>) -> Void
    ) {
        waiting.append(Erasure(ErasureRule(rule), request, isDryRun: isDryRun, then))
        beginNext()
    }

    private func beginNext() {
        guard current == nil, !waiting.isEmpty else { return }
        let erasure = waiting.removeFirst()
        current = erasure
        // Dead letters are not requeued during the erasure: their events would get new sequence numbers, and the
        // erasure would miss them.
        deadLetters.inTurn { [self] done in
            erasure.release = done
            // Accepted events that are being stored are part of the queue.
            events.whenCommitted { [weak self] _ in
                guard let self else { return }
                if !erasure.isAccepted { erasure.request.through = events.lastStored }
                scanPart(erasure, after: 0)
            }
        }
    }

    // MARK: Finding

    private func scanPart(_ erasure: Erasure, after position: SequenceNumber) {
        (erasure.partStart, erasure.rewinds) = (position, rewinds.count)
        // An event that was sent again after a rewind may have become a dead letter.
        erasure.deadLetters = nil
        scan(
            ErasureScan(
                erasure.rule, after: position, through: erasure.request.through, part: erasure.isDryRun ? nil : part),
            erasure)
    }

    private func scan(_ scan: ErasureScan, _ erasure: Erasure) {
        note(erasure, at: scan.position)
        guard !scan.isOver else { return found(scan, erasure) }
        events.store.scan(scan) { [weak self] result in
            switch result {
            case .success(let scan): self?.scan(scan, erasure)
            case .failure: self?.failed(erasure) { self?.scan(scan, erasure) }
            }
        }
    }

    private func found(_ scan: ErasureScan, _ erasure: Erasure) {
        if erasure.isDryRun { erasure.count = scan.count }
        (erasure.found, erasure.needed, erasure.isLastPart) = (scan.found, scan.count, scan.isComplete)
        guard !scan.isComplete, !erasure.isAccepted else { return hold(erasure) }
        kept.keep(erasure.request.kept, as: KeptErasure.name) { [weak self] fault in
            guard let self else { return }
            if fault != nil {
                kept.keep(nil, as: KeptErasure.name) { _ in }
                return end(erasure, .failure(.store))
            }
            erasure.isAccepted = true
            hold(erasure)
        }
    }

    /// Lets the dispatchers with pending events of the part finish what is in flight, and then records the part. It waits
    /// for rewinds.
    private func hold(_ erasure: Erasure) {
        // A rewind may make events of the part pending again.
        guard !dispatchers.all.contains(where: { $0.isRewinding && !erasure.holds($0) }) else {
            return later { [self] in hold(erasure) }
        }
        let concerned = dispatchers.all.filter { isConcerned($0, by: erasure) }
        // A dispatcher that is being removed is an orphan soon.
        guard concerned.allSatisfy({ dispatchers[$0.id] === $0 }) else { return later { [self] in hold(erasure) } }
        guard concerned.isEmpty else { return hold(concerned, erasure) }
        erasure.isHolding = !erasure.held.allSatisfy(\.isQuiet)
        guard !erasure.isHolding else { return }
        for dispatcher in erasure.held where !dispatcher.isBeingRewound { dispatcher.freeze() }
        // The store may have removed events that were found, before a rewind counted those that it has.
        guard erasure.rewinds == rewinds.count else { return scanPart(erasure, after: erasure.partStart) }
        let isReady = !erasure.isLastPart || erasure.deadLetters != nil
        return isReady ? record(erasure) : readDeadLetters(after: 0, erasure)
    }

    /// Lets some dispatchers finish what is in flight: those with slow destinations, or all if there are none.
    private func hold(_ concerned: [Dispatcher], _ erasure: Erasure) {
        let slow = concerned.filter { $0.hasBeenSending(for: Erasures.slow) }
        // An event in flight may become a dead letter, so the dead letters are read again.
        erasure.deadLetters = nil
        erasure.isHolding = true
        for dispatcher in slow.isEmpty ? concerned : slow {
            erasure.held.append(dispatcher)
            dispatcher.beginRewind { [weak self] isQuiet in
                if !isQuiet { erasure.held.removeAll { $0 === dispatcher } }
                guard erasure.isHolding, erasure.held.allSatisfy(\.isQuiet) else { return }
                erasure.isHolding = false
                self?.hold(erasure)
            }
        }
    }

    private func isConcerned(_ dispatcher: Dispatcher, by erasure: Erasure) -> Bool {
        !erasure.holds(dispatcher) && !pending(erasure, of: dispatcher).isEmpty
    }

    /// Returns the events of the part that a dispatcher has not settled.
    private func pending(_ erasure: Erasure, of dispatcher: Dispatcher) -> [StoredEvent] {
        let queue = dispatcher.queue
        return erasure.found.filter { event in
            guard events.isRoute(event.route, to: queue.number) else { return false }
            if !queue.entries(of: [event.sequenceNumber]).isEmpty { return true }
            return queue.isUnread(event.sequenceNumber)
                && !(queue.isSwept(event.sequenceNumber) && events.hasPassed(event))
        }
    }

    /// Reads the dead letters after a number, and collects those that the rule matches.
    /// - Parameter earlier: the dead letters of the erasure up to `after`.
    private func readDeadLetters(
        after: DeadLetterNumber, behind earlier: [DeadLetterNumber] = [], _ erasure: Erasure
    ) {
        // A dead letter that the store writes later would keep the event.
        let limit = Erasures.deadLettersPerPage
        _ = deadLetters.read(after: after, limit: limit, requiresAll: !erasure.isDryRun) { [weak self] result in
            guard let self else { return }
            guard case .success(let page) = result else {
                return failed(erasure) { [self] in readDeadLetters(after: after, behind: earlier, erasure) }
            }
            let matching = page.deadLetters.filter { $0.deadLetter.event.map(erasure.rule.matches) ?? false }
            let found = earlier + matching.map(\.number)
            if let next = page.next { return readDeadLetters(after: next, behind: found, erasure) }
            erasure.deadLetters = found
            guard !erasure.isDryRun else { return end(erasure, .success(erasure.answer)) }
            // A rewind may have made events pending again while the dead letters were read.
            hold(erasure)
        }
    }

    // MARK: Erasing

    private func record(_ erasure: Erasure) {
        let numbers = erasure.found.map(\.sequenceNumber)
        events.store.erase(numbers, erasure.deadLetters ?? []) { [weak self] result in
            guard let self else { return }
            guard case .success = result else { return failed(erasure) { [self] in hold(erasure) } }
            settle(erasure)
            guard !erasure.isLastPart else { return forgetRule(erasure) }
            scanPart(erasure, after: erasure.position ?? 0)
        }
    }

    /// Counts the erased events of the part, and lets the dispatchers continue without them.
    private func settle(_ erasure: Erasure) {
        var settled = Set<SequenceNumber>()
        for dispatcher in erasure.held where dispatchers.there(dispatcher.id) === dispatcher {
            let pending = pending(erasure, of: dispatcher)
            settled.formUnion(pending.map(\.sequenceNumber))
            dispatcher.erased(pending)
        }
        for orphan in dispatchers.orphansWithEvents {
            let pending = pending(erasure, of: orphan)
            settled.formUnion(pending.map(\.sequenceNumber))
            for event in pending { events.backlog.settle(event.tally, route: event.route, dispatcher: orphan.number) }
            records.counts.count(.erased, pending.count)
        }
        let count = events.limits.retain == nil ? settled.count : max(settled.count, erasure.needed)
        erasure.count += count
        // Retained events count once, and so do dead letters.
        records.counts.count(.erased, count - settled.count + (erasure.deadLetters?.count ?? 0))
        events.forgetRecent()
        records.trace.forget(Set(erasure.found.map(\.sequenceNumber)))
        releaseDispatchers(erasure)
    }

    private func pending(_ erasure: Erasure, of orphan: StoredDispatcher) -> [StoredEvent] {
        erasure.found.filter { event in
            events.isRoute(event.route, to: orphan.number) && !orphan.settled.contains(event.sequenceNumber)
                && !events.hasPassed(event)
        }
    }

    /// Deletes the kept rule before the bytes of the events are removed. The rule may contain personal data, too.
    private func forgetRule(_ erasure: Erasure) {
        erasure.found = []
        erasure.release()
        erasure.release = {}
        guard erasure.isAccepted else { return removeBytes(erasure) }
        kept.keep(nil, as: KeptErasure.name) { [weak self] fault in
            // The store repeats the write.
            if fault != nil { self?.later { self?.forgetRule(erasure) } } else { self?.removeBytes(erasure) }
        }
    }

    private func removeBytes(_ erasure: Erasure) {
        note(erasure, at: nil)
        events.store.removeErasedBytes { [weak self] result in
            guard let self else { return }
            switch result {
            case .success(false): removeBytes(erasure)
            case .success(true): end(erasure, .success(erasure.answer))
            case .failure: later { [self] in removeBytes(erasure) }
            }
        }
    }

    // MARK: After a kill

    /// Finishes an erasure that an earlier process has recorded (Behaviour E2).
    /// - Parameters:
    ///   - request: what the store keeps of an erasure of several parts; nil if the last part is recorded.
    ///   - resolve: resolves its rule.
    func finishEarlier(_ request: KeptErasure?, _ resolve: (Rule) throws(RuleFault) -> ResolvedRule) {
        let request = request ?? KeptErasure(.or([]), through: 0, reason: nil)
        let then = { [finished] (result: Result<ErasureAnswer, ErasureRefusal>) in
            guard case .success(let answer) = result else { return }
            finished.send(FinishedErasure(answer: answer, reason: request.reason))
        }
        // The earlier process resolved the rule, which names no other rule.
        let rule = (try? resolve(request.rule)) ?? .or([])
        let erasure = Erasure(ErasureRule(rule), request, isDryRun: false, then)
        erasure.isAccepted = true
        waiting.insert(erasure, at: 0)
        beginNext()
    }

    // MARK: The end

    private func note(_ erasure: Erasure, at position: SequenceNumber?) {
        erasure.position = position
        onProgress()
    }

    /// Tries again after a failure of the store, or refuses an erasure of which nothing is recorded.
    private func failed(_ erasure: Erasure, again: @escaping () -> Void) {
        if erasure.isAccepted { later(again) } else { end(erasure, .failure(.store)) }
    }

    private func releaseDispatchers(_ erasure: Erasure) {
        for dispatcher in erasure.held {
            dispatcher.endRewind()
            rewinds.beginNext(dispatcher.id)
        }
        erasure.held = []
    }

    private func end(_ erasure: Erasure, _ result: Result<ErasureAnswer, ErasureRefusal>) {
        releaseDispatchers(erasure)
        erasure.release()
        erasure.release = {}
        current = nil
        onProgress()
        erasure.then(result)
        beginNext()
    }

    private func later(_ work: @escaping () -> Void) {
        _ = events.scheduler.schedule(at: events.scheduler.now + Erasures.pause, work)
    }
}

/// An erasure that was requested.
private final class Erasure {
    let rule: ErasureRule
    var request: KeptErasure
    let isDryRun: Bool
    let then: (Result<ErasureAnswer, ErasureRefusal>) -> Void
    /// The last event before the present part.
    var partStart: SequenceNumber = 0
    /// The number of rewinds when the search of the present part began.
    var rewinds = 0
    /// The events of the present part.
    var found: [StoredEvent] = []
    /// The number of events in ``found`` that were needed when they were found.
    var needed = 0
    var isLastPart = false
    /// True if the erasure is kept or was recorded, so that it must be finished.
    var isAccepted = false
    /// The number of events that were erased. Some that were found may have been delivered meanwhile.
    var count = 0
    /// The dead letters that the rule matches; nil before all are read.
    var deadLetters: [DeadLetterNumber]?
    /// The dispatchers that send nothing until the store has recorded the part.
    var held: [Dispatcher] = []
    /// True while they finish what is in flight.
    var isHolding = false
    /// The closure that allows other operations on dead letters again.
    var release: () -> Void = {}
    /// The event up to which the store is scanned; nil while bytes are removed.
    var position: SequenceNumber? = 0

    init(
        _ rule: ErasureRule, _ request: KeptErasure, isDryRun: Bool,
        _ then: @escaping (Result<ErasureAnswer, ErasureRefusal>) -> Void
    ) {
        (self.rule, self.request, self.isDryRun, self.then) = (rule, request, isDryRun, then)
    }

    func holds(_ dispatcher: Dispatcher) -> Bool { held.contains { $0 === dispatcher } }

    var answer: ErasureAnswer { ErasureAnswer(events: count, deadLetters: deadLetters?.count ?? 0) }

    var progress: ErasureProgress {
        ErasureProgress(
            done: answer, isDryRun: isDryRun,
            scannedThrough: position.map { min($0, request.through) } ?? request.through,
            last: request.through, isRemoving: position == nil)
    }
}
