import HeadgateCore

/// The acknowledged events and their dispatchers: the model of a whole history.
final class Ledger {
    private(set) var queues: [String: QueueModel] = [:]
    /// Events that are safely stored.
    private(set) var safe: Set<SequenceNumber> = []
    /// Events that were safely stored and later lost. A client may still get their late acknowledgement.
    private var taken: Set<SequenceNumber> = []
    /// Groups without a successful answer, which may be stored after the next start.
    private var unanswered: [SequenceNumber: Set<String>] = [:]
    private var routes: [RouteNumber: [DispatcherNumber]] = [:]
    private var ids: [DispatcherNumber: String] = [:]
    let ages: Ages
    /// The model of rules and transformations, if there are any.
    private(set) var rules: RuleAccount?
    /// The model of damage, if there is any.
    var corrupt: Corruption?
    /// The model of removed dispatchers.
    var orphans: Orphans?
    private(set) lazy var deadLetters = DeadLetterBook(record) { [unowned self] in ids[$0] ?? "\($0)" }
    let record: Record

    /// - Parameter book: The initial rules, if there are any.
    init(_ record: Record, _ ages: Ages, _ book: Rulebook?) {
        (self.record, self.ages) = (record, ages)
        rules = book.map { RuleAccount(record, $0) { [unowned self] in queue($0) } }
    }

    /// Returns true if an event is safe, or was when it was acknowledged.
    func isOrWasSafe(_ number: SequenceNumber) -> Bool { maySayAcknowledged(number) || taken.contains(number) }

    /// Returns true if an event may be acknowledged: it is safe, or it is damaged and its id is still remembered.
    func maySayAcknowledged(_ number: SequenceNumber) -> Bool {
        safe.contains(number) || corrupt?.damaged.contains(number) == true
    }

    func queue(_ id: String) -> QueueModel {
        if let queue = queues[id] { return queue }
        let queue = QueueModel(id: id, record: record, ages: ages, deadLetters: deadLetters)
        queue.damaged = { [unowned self] in corrupt?.damaged ?? [] }
        queues[id] = queue
        return queue
    }

    /// True if there may have been a time without dispatchers in this life.
    var mayBeUnrouted: Bool { rules != nil || queue("a").isPatchy && queue("b").isPatchy }

    // MARK: Requests to the store

    func note(_ changes: [StoreChange]) {
        for change in changes {
            if case .forgetDispatcher(let number) = change { orphans?.forgets(number) }
            if case .settled(_, let settled) = change { corrupt?.requested(settled) }
            guard case .dispatcher(let dispatcher) = change else { continue }
            ids[dispatcher.number] = dispatcher.id
            orphans?.stored(dispatcher)
        }
        for case .deadLetter(let deadLetter) in changes where deadLetter.reason == .maxRetryAge {
            ids[deadLetter.dispatcher].map { queue($0).agedOut(deadLetter.sequenceNumber) }
        }
    }

    func requested(_ group: AppendGroup) {
        routes.merge(group.newRoutes) { $1 }
        for dispatcher in group.initialState.dispatchers {
            ids[dispatcher.number] = dispatcher.id
            orphans?.stored(dispatcher)
        }
        ages.requested(group.chunk)
        deadLetters.requested(group)
        corrupt?.requested(group)
        for event in group.chunk {
            let (number, queues) = (event.sequenceNumber, recipients(event.route))
            unanswered[number] = queues
            rules?.stored(event, for: queues, isRequeued: deadLetters.first(number) != number)
        }
        rules?.groupRequested()
    }

    func answered(_ group: AppendGroup, _ fault: StoreFault?) {
        deadLetters.answered(group, fault)
        corrupt?.answered(group, fault)
        guard fault == nil else { return }
        for event in group.chunk {
            record.expect(safe.insert(event.sequenceNumber).inserted, "\(event.sequenceNumber) is assigned twice")
            for id in unanswered.removeValue(forKey: event.sequenceNumber) ?? [] {
                queue(id).safe(event.sequenceNumber)
                orphans?.stored(for: id)
            }
        }
    }

    private func recipients(_ route: RouteNumber) -> Set<String> {
        Set((routes[route] ?? []).compactMap { ids[$0] })
    }

    // MARK: Lives

    /// Checks an opened store: it must contain every required event and dead letter, and nothing else.
    /// - Parameters:
    ///   - found: Every readable group.
    ///   - table: Every dead letter.
    ///   - lost: The number of events lost in the previous life, by dispatcher.
    ///   - isLax: True if the newest contents may be lost.
    func reopened(
        _ state: StoredState, _ found: [Chunk], _ table: [StoredDeadLetter],
        lost: [String: Int], after end: LifeEnd,
        isLax: Bool
    ) {
        routes = state.routes
        for dispatcher in state.dispatchers { ids[dispatcher.number] = dispatcher.id }
        orphans?.opened(state.dispatchers, isCertain: end == .stopped && !isLax, isLax: isLax)
        let dead = dead
        corrupt?.found(state.warnings)
        record.expect(corrupt != nil || state.warnings == [], "the store reports damage: \(state.warnings)")
        let events = found.flatMap { chunk in chunk.map { (number: $0.sequenceNumber, route: $0.route) } }
        for (id, queue) in queues.sorted(by: { $0.key < $1.key }) {
            let dispatcher = state.dispatchers.first { $0.id == id }
            let mine = events.filter { event in
                dispatcher.map { routes[event.route]?.contains($0.number) == true } ?? false
            }
            let found = mine.filter { dispatcher?.settled.contains($0.number) == false }
            check(dispatcher.flatMap { state.unsettled[$0.number] } ?? [:], of: id, found.map(\.route))
            let perhaps = unanswered.filter { $0.value.contains(id) }.keys
            queue.reopened(
                Set(found.map(\.number)), lost: lost[id] ?? 0, unanswered: Set(perhaps), after: end, isLax: isLax)
        }
        deadLetters.reopened(
            table, queued: queues.mapValues(\.waiting), dead: dead, damaged: corrupt?.damaged ?? [], after: end,
            isLax: isLax
        )
        let newly = Set(events.map(\.number)).subtracting(safe)
        if !newly.isEmpty { record.count(.unansweredKept) }
        record.expect(newly.isSubset(of: unanswered.keys), "the store has unknown events: \(newly.sorted())")
        record.expect(
            state.lastSequenceNumber >= highest(of: safe.union(newly)) || isLax,
            "sequence numbers after \(state.lastSequenceNumber) will be reused")
        let settled = state.dispatchers.map { $0.settled.ranges.last?.upperBound ?? $0.settled.position }.max() ?? 0
        record.expect(settled <= state.lastSequenceNumber, "\(settled) is settled but was never assigned")
        if isLax || corrupt != nil {
            taken.formUnion(safe.filter { $0 > state.lastSequenceNumber })
            safe = safe.filter { $0 <= state.lastSequenceNumber }
        }
        safe.formUnion(newly)
        unanswered = [:]
    }

    /// Returns the highest number that a start must know. The number of a damaged event is derived from its bytes,
    /// unless events before it were refused.
    private func highest(of known: Set<SequenceNumber>) -> SequenceNumber {
        guard let corrupt else { return known.max() ?? 0 }
        var highest = known.subtracting(corrupt.damaged).max() ?? 0
        while known.contains(highest + 1), !corrupt.doubtful.contains(highest + 1) { highest += 1 }
        return highest
    }

    /// The events dead-lettered in this life.
    var dead: Set<DeadLetterKey> {
        Set(queues.values.flatMap { queue in queue.dead.map { DeadLetterKey(queue: queue.id, number: $0) } })
    }

    /// Checks the counters of the whole service at the end.
    /// - Parameter damagedAtStart: The number of events that the service counted as damaged when it started. They were
    ///   gone before.
    func check(_ counters: Counters<EventCounter>, damagedAtStart: Int) {
        let all = queues.values
        let (sent, dead) = (all.reduce(0) { $0 + $1.delivered.count }, all.reduce(0) { $0 + $1.dead.count })
        let lost = all.reduce(0) { $0 + $1.waiting.count }
        record.expect(counters[.delivered] == sent, "delivered is \(counters[.delivered]), not \(sent)")
        record.expect(counters[.dead] == dead, "dead is \(counters[.dead]), not \(dead)")
        let counted = counters[.evicted] + counters[.purged] + counters[.expired]
        let spoilt = all.reduce(0) { $0 + $1.waiting.intersection($1.damaged()).count }
        let putAside = counters[.quarantined] - damagedAtStart
        let isExplained = corrupt?.explains(lost, counted: counted, putAside: putAside, ofSpoilt: spoilt)
        let what = "\(lost) events are gone, and \(counted) counted as dropped, \(putAside) as quarantined"
        let gone = all.sorted { $0.id < $1.id }.map { "\($0.id) \($0.waiting.sorted())" }
        record.expect(isExplained ?? (counted == lost), "\(what): \(gone)")
        rules?.check(counters)
    }

    /// Checks the dead letters at the end.
    func check(_ table: [StoredDeadLetter], counted: Int) {
        deadLetters.check(table, dead: dead, counted: counted)
    }

    /// Checks the number of pending events that a start computes from summaries.
    private func check(_ tallies: RouteTallies, of id: String, _ routes: [RouteNumber]) {
        let counted = tallies.events
        let found = routes.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        let missing = counted.values.reduce(0, +) - routes.count
        let isMissed = corrupt?.counts(missing: missing) == true && found.allSatisfy { $1 <= counted[$0] ?? 0 }
        record.expect(
            counted == found || isMissed, "a start counts \(counted) for \(id), not \(found)")
    }
}
