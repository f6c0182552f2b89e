import HeadgateCore

/// What the store has acknowledged, and to whom it goes: the model of a whole history.
final class Ledger {
    private(set) var lanes: [String: Lane] = [:]
    /// Events that are safe.
    private(set) var safe: Set<SequenceNumber> = []
    /// Events that were, and are lost since. Who is told late that they are safe was told so before.
    private var taken: Set<SequenceNumber> = []
    /// Groups that were asked for and not answered well: they may be there after the next start.
    private var unanswered: [SequenceNumber: Set<String>] = [:]
    private var routes: [RouteNumber: [DispatcherNumber]] = [:]
    private var ids: [DispatcherNumber: String] = [:]
    let ages: Ages
    /// Where there are rules and transformations.
    private(set) var rules: RuleAccount?
    /// Where bytes rot.
    var rot: Rot?
    /// Those that are gone.
    var orphans: Orphans?
    private(set) lazy var letters = LetterBook(record) { [unowned self] in ids[$0] ?? "\($0)" }
    let record: Record

    /// - Parameter book: the rules that a daemon begins with, where there are any.
    init(_ record: Record, _ ages: Ages, _ book: Rulebook?) {
        (self.record, self.ages) = (record, ages)
        rules = book.map { RuleAccount(record, $0) { [unowned self] in lane($0) } }
    }

    /// Whether an event is safe, or was when that was said.
    func isOrWasSafe(_ number: SequenceNumber) -> Bool { maySayAcknowledged(number) || taken.contains(number) }

    /// Whether an event may be called acknowledged: it is safe, or it was and has rotted: its id is remembered all the same.
    func maySayAcknowledged(_ number: SequenceNumber) -> Bool {
        safe.contains(number) || rot?.damaged.contains(number) == true
    }

    func lane(_ id: String) -> Lane {
        if let lane = lanes[id] { return lane }
        let lane = Lane(id: id, record: record, ages: ages, letters: letters)
        lane.damaged = { [unowned self] in rot?.damaged ?? [] }
        lanes[id] = lane
        return lane
    }

    /// Whether there may have been a time without dispatchers in this life.
    var mayBeUnrouted: Bool { rules != nil || lane("a").isPatchy && lane("b").isPatchy }

    // MARK: Store operations

    func note(_ changes: [StoreChange]) {
        for change in changes {
            if case .forgetDispatcher(let number) = change { orphans?.forgets(number) }
            if case .settled(_, let settled) = change { rot?.asked(settled) }
            guard case .dispatcher(let dispatcher) = change else { continue }
            ids[dispatcher.number] = dispatcher.id
            orphans?.stored(dispatcher)
        }
        for case .deadLetter(let letter) in changes where letter.reason == .maxRetryAge {
            ids[letter.dispatcher].map { lane($0).agedOut(letter.sequenceNumber) }
        }
    }

    func asked(_ group: AppendGroup) {
        routes.merge(group.newRoutes) { $1 }
        for dispatcher in group.groundwork.dispatchers {
            ids[dispatcher.number] = dispatcher.id
            orphans?.stored(dispatcher)
        }
        ages.asked(group.chunk)
        letters.asked(group)
        rot?.asked(group)
        for event in group.chunk {
            let (number, lanes) = (event.sequenceNumber, wanted(event.route))
            unanswered[number] = lanes
            rules?.stored(event, for: lanes, isRequeued: letters.first(number) != number)
        }
        rules?.groupAsked()
    }

    func answered(_ group: AppendGroup, _ fault: StoreFault?) {
        letters.answered(group, fault)
        rot?.answered(group, fault)
        guard fault == nil else { return }
        for event in group.chunk {
            record.expect(safe.insert(event.sequenceNumber).inserted, "\(event.sequenceNumber) is given twice")
            for id in unanswered.removeValue(forKey: event.sequenceNumber) ?? [] {
                lane(id).safe(event.sequenceNumber)
                orphans?.stored(for: id)
            }
        }
    }

    private func wanted(_ route: RouteNumber) -> Set<String> {
        Set((routes[route] ?? []).compactMap { ids[$0] })
    }

    // MARK: Restarts

    /// A store was opened: it must have all that it should, and nothing else.
    /// - Parameters:
    ///   - found: every group that it can read, and those that are damaged.
    ///   - table: every dead letter.
    ///   - lost: by dispatcher, how many events were let go of in the life before.
    ///   - isLax: whether less is promised: the newest may be gone.
    func reopened(
        _ state: StoredState, _ found: (chunks: [Chunk], damaged: [SequenceNumber]), _ table: [StoredLetter],
        lost: [String: Int], after end: LifeEnd,
        isLax: Bool
    ) {
        routes = state.routes
        for dispatcher in state.dispatchers { ids[dispatcher.number] = dispatcher.id }
        orphans?.opened(state.dispatchers, isCertain: end == .stopped && !isLax, isLax: isLax)
        let dead = dead
        let spoilt = rot?.found(found.damaged, state.warnings)
        record.expect(rot != nil || state.warnings == [], "the store is not what it was: \(state.warnings)")
        record.expect(rot != nil || found.damaged == [], "\(found.damaged) are not what was written")
        let sound = found.chunks.flatMap { chunk in chunk.map { (number: $0.sequenceNumber, route: $0.route) } }
        let events = sound + (spoilt ?? [])
        for (id, lane) in lanes.sorted(by: { $0.key < $1.key }) {
            let dispatcher = state.dispatchers.first { $0.id == id }
            let mine = events.filter { event in
                dispatcher.map { routes[event.route]?.contains($0.number) == true } ?? false
            }
            let found = mine.filter { dispatcher?.settled.contains($0.number) == false }
            check(dispatcher.flatMap { state.unsettled[$0.number] } ?? [:], of: id, found.map(\.route))
            let perhaps = unanswered.filter { $0.value.contains(id) }.keys
            lane.reopened(
                Set(found.map(\.number)), lost: lost[id] ?? 0, unanswered: Set(perhaps), after: end, isLax: isLax)
        }
        letters.reopened(
            table, queued: lanes.mapValues(\.waiting), dead: dead, damaged: rot?.damaged ?? [], after: end, isLax: isLax
        )
        let newly = Set(events.map(\.number)).subtracting(safe)
        if !newly.isEmpty { record.count(.unansweredKept) }
        record.expect(newly.isSubset(of: unanswered.keys), "the store made up \(newly.sorted())")
        record.expect(
            state.lastSequenceNumber >= highest(of: safe.union(newly)) || isLax,
            "numbers begin again behind \(state.lastSequenceNumber)")
        let settled = state.dispatchers.map { $0.settled.ranges.last?.upperBound ?? $0.settled.position }.max() ?? 0
        record.expect(settled <= state.lastSequenceNumber, "\(settled) is settled, and no number yet")
        if isLax || rot != nil {
            taken.formUnion(safe.filter { $0 > state.lastSequenceNumber })
            safe = safe.filter { $0 <= state.lastSequenceNumber }
        }
        safe.formUnion(newly)
        unanswered = [:]
    }

    /// The highest number that a start must know of: of damaged events, none of which was refused before, it is told by their bytes.
    private func highest(of known: Set<SequenceNumber>) -> SequenceNumber {
        guard let rot else { return known.max() ?? 0 }
        var highest = known.subtracting(rot.damaged).max() ?? 0
        while known.contains(highest + 1), !rot.doubtful.contains(highest + 1) { highest += 1 }
        return highest
    }

    /// What died in this life.
    var dead: Set<LetterKey> {
        Set(lanes.values.flatMap { lane in lane.dead.map { LetterKey(lane: lane.id, number: $0) } })
    }

    /// All is quiet: what is counted of the whole service is what became of its events.
    func check(_ counters: Counters<EventCounter>) {
        let all = lanes.values
        let (sent, dead) = (all.reduce(0) { $0 + $1.delivered.count }, all.reduce(0) { $0 + $1.dead.count })
        let lost = all.reduce(0) { $0 + $1.waiting.count }
        record.expect(counters[.delivered] == sent, "delivered is \(counters[.delivered]), not \(sent)")
        record.expect(counters[.dead] == dead, "dead is \(counters[.dead]), not \(dead)")
        let counted = counters[.evicted] + counters[.expired]
        let spoilt = all.reduce(0) { $0 + $1.waiting.intersection($1.damaged()).count }
        let isExplained = rot?.explains(lost, counted: counted, putAside: counters[.quarantined], ofSpoilt: spoilt)
        let what = "\(lost) events are gone, and \(counted) counted so, \(counters[.quarantined]) as put aside"
        let gone = all.sorted { $0.id < $1.id }.map { "\($0.id) \($0.waiting.sorted())" }
        record.expect(isExplained ?? (counted == lost), "\(what): \(gone)")
        rules?.check(counters)
    }

    /// All is quiet.
    func check(_ table: [StoredLetter], counted: Int) {
        letters.check(table, dead: dead, counted: counted)
    }

    /// A start counts what waits from summaries. It must be what there is.
    private func check(_ tallies: RouteTallies, of id: String, _ routes: [RouteNumber]) {
        let counted = tallies.events
        let found = routes.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        let missing = counted.values.reduce(0, +) - routes.count
        let isMissed = rot?.counts(missing: missing) == true && found.allSatisfy { $1 <= counted[$0] ?? 0 }
        record.expect(
            counted == found || isMissed, "a start counts \(counted) for \(id), and there are \(found)")
    }
}
