import HeadgateData

/// Finds the events of an id, wherever they are, and how each stands with its dispatchers (Behaviour O2).
///
/// First it asks what is remembered of the newest events. An id that is not among these is looked for among what waits in the
/// store: by its place, where that is remembered to find repeats by, else by a survey of all that waits, which the store makes
/// off the scheduler. Then the dead letters are gone over, a page at a time, and at last it is counted how many wait before.
final class TraceQuery {
    private let gate: Headgate
    private let id: String
    /// Nil is any.
    private let namespace: String?
    private let then: (Result<[TracedEvent], StoreFault>) -> Void
    private var candidates: [SequenceNumber: Candidate] = [:]
    private var letters: [SequenceNumber: [StoredLetter]] = [:]
    private var traced: [TracedEvent] = []
    /// What is to be counted yet: for which event and dispatcher.
    private var counts: [Count] = []

    /// An event of the id.
    private struct Candidate {
        var sequenceNumber: SequenceNumber
        var namespace: String?
        var name: String?
        var receivedAt: Timestamp?
        var dispatchers: Set<DispatcherNumber>
        /// What was received when; nil where only the trace knows it.
        var event: StoredEvent?
    }

    private struct Count {
        let event: Int
        let way: Int
        let dispatcher: DispatcherNumber
        /// How many of the dispatcher's come before those that are counted.
        let inHand: Int
        let survey: EventSurvey
    }

    private static let lettersPerPage = 256

    init(
        _ gate: Headgate, _ id: String, in namespace: String?,
        then: @escaping (Result<[TracedEvent], StoreFault>) -> Void
    ) {
        (self.gate, self.id, self.namespace, self.then) = (gate, id, namespace, then)
    }

    private var events: EventQueue { gate.events }

    func begin() {
        for remembered in gate.trace.events(of: id) { take(remembered) }
        guard let survey else { return readLetters(after: 0) }
        run(survey) { [self] survey in
            for record in survey.found { take(record) }
            readLetters(after: 0)
        }
    }

    // MARK: Candidates

    private func take(_ remembered: TraceMemory.Remembered) {
        let known = gate.trace.namespace(remembered.namespace)
        guard isMeant(known) else { return }
        candidates[remembered.sequenceNumber] = Candidate(
            sequenceNumber: remembered.sequenceNumber, namespace: known, name: remembered.name,
            receivedAt: remembered.receivedAt,
            dispatchers: Set(events.routes.dispatchers(of: remembered.route)))
    }

    private func take(_ record: [UInt8]) {
        guard let event = Chunk(bytes: record, lastSequenceNumber: .max).event(at: 0) else { return }
        let known = knownNamespace(of: event)
        guard isMeant(known), candidates[event.sequenceNumber] == nil else { return }
        candidates[event.sequenceNumber] = Candidate(
            sequenceNumber: event.sequenceNumber, namespace: known, name: event.name, receivedAt: event.receivedAt,
            dispatchers: Set(events.routes.dispatchers(of: event.route)), event: event)
    }

    /// Where an event's namespace is not known any more, it may be the one that is asked for.
    private func isMeant(_ known: String?) -> Bool {
        guard let namespace, let known else { return true }
        return namespace == known
    }

    /// The namespace in which the id is remembered for this event; nil where it is not any more.
    private func knownNamespace(of event: StoredEvent) -> String? {
        let user = gate.readUser(of: event).map { "uid:\($0)" }
        return ([namespace, user].compactMap(\.self) + gate.trace.knownNamespaces).first {
            events.firstEvent(of: id, in: $0) == event.sequenceNumber
        }
    }

    /// What of the store has to be gone over; nil: nothing.
    private var survey: EventSurvey? {
        if let namespace {
            if !candidates.isEmpty { return nil }
            if let place = events.firstEvent(of: id, in: namespace) {
                return EventSurvey(for: id, after: place - 1, through: place)
            }
        }
        let end = gate.trace.oldestRemembered.map { $0 - 1 } ?? events.lastStored
        let start = gate.dispatchers.trimPoint()
        return start < end ? EventSurvey(for: id, after: start, through: end) : nil
    }

    private func run(_ survey: EventSurvey, _ next: @escaping (EventSurvey) -> Void) {
        guard !survey.isOver else { return next(survey) }
        events.store.survey(survey) { [self] result in
            switch result {
            case .success(let survey): run(survey, next)
            case .failure(let fault): then(.failure(fault))
            }
        }
    }

    // MARK: Dead letters

    private func readLetters(after: LetterNumber) {
        var query = LetterQuery(limit: TraceQuery.lettersPerPage)
        query.after = after
        gate.deadLetterWork.read(query) { [self] result in
            switch result {
            case .success(let page):
                for letter in page.letters { take(letter) }
                guard let next = page.next else { return build() }
                readLetters(after: next)
            case .failure(let fault): then(.failure(fault))
            }
        }
    }

    private func take(_ letter: StoredLetter) {
        guard let event = letter.letter.event, event.hasID(Array(id.utf8)) else { return }
        take(letter.letter.record)
        guard candidates[letter.letter.sequenceNumber] != nil else { return }
        candidates[letter.letter.sequenceNumber]?.dispatchers.insert(letter.letter.dispatcher)
        letters[letter.letter.sequenceNumber, default: []].append(letter)
    }

    // MARK: How each stands

    private func build() {
        for candidate in candidates.values.sorted(by: { $0.sequenceNumber < $1.sequenceNumber }) {
            var event = TracedEvent(
                namespace: candidate.namespace, sequenceNumber: candidate.sequenceNumber, name: candidate.name,
                receivedAt: candidate.receivedAt)
            let named = candidate.dispatchers.compactMap { number in
                gate.dispatchers.known.id(of: number).map { (id: $0, number: number) }
            }
            for (id, number) in named.sorted(by: { $0.id < $1.id }) {
                guard let way = way(of: candidate, id, number) else { continue }
                if let survey = way.survey {
                    counts.append(
                        Count(
                            event: traced.count, way: event.dispatchers.count, dispatcher: number,
                            inHand: way.told.ahead ?? 0, survey: survey))
                }
                event.dispatchers.append(way.told)
            }
            // Of what was settled before the start nothing is known.
            if candidate.event == nil || !event.dispatchers.isEmpty { traced.append(event) }
        }
        countNext()
    }

    private func countNext() {
        guard let count = counts.popLast() else { return then(.success(traced)) }
        run(count.survey) { [self] survey in
            let before = survey.counts.reduce(0) { sum, counted in
                events.routes.dispatchers(of: counted.key).contains(count.dispatcher) ? sum + counted.value : sum
            }
            traced[count.event].dispatchers[count.way].ahead = count.inHand + before
            countNext()
        }
    }

    /// - Returns: nil where nothing is known any more; with a survey where it has to be counted how many wait before.
    private func way(
        of candidate: Candidate, _ id: String, _ number: DispatcherNumber
    ) -> (told: TracedWay, survey: EventSurvey?)? {
        let place = candidate.sequenceNumber
        let letter = letters[place]?.last { $0.letter.dispatcher == number }
        if let line = gate.trace.outcome(of: place, for: number) { return (ended(id, line, letter), nil) }
        if let letter { return (dead(id, letter), nil) }
        guard let dispatcher = gate.dispatchers.there(id) else { return orphaned(id, place) }
        let lastError = gate.trace.lastError(of: place, for: number)
        if let entry = dispatcher.queue.entries(of: [place]).first {
            var way = TracedWay(
                dispatcher: id, state: .pending, attempts: Int(entry.progress.sends), lastError: lastError)
            if entry.progress.isInFlight {
                (way.state, way.at) = (.inFlight, dispatcher.sentAt(of: place))
            } else {
                way.ahead = dispatcher.queue.entries.count { $0.sequenceNumber < place }
                way.blockedBy = gate.blockers(of: place, for: id)
            }
            return (way, nil)
        }
        guard dispatcher.queue.isUnread(place) else { return nil }
        if let event = candidate.event, events.hasPassed(event) {
            return (TracedWay(dispatcher: id, state: .expired, attempts: 0), nil)
        }
        var way = TracedWay(dispatcher: id, state: .pending, attempts: 0, lastError: lastError)
        way.ahead = dispatcher.queue.count
        way.blockedBy = gate.blockers(of: place, for: id)
        let read = dispatcher.queue.readPosition
        return (way, count(after: read, before: place, dispatcher.queue.settled))
    }

    private func count(
        after: SequenceNumber, before place: SequenceNumber, _ settled: Settled
    ) -> EventSurvey {
        EventSurvey(countingAfter: after, through: place - 1, settled: settled, sweep: events.sweep)
    }

    private func ended(_ id: String, _ line: SettlementLog.Line, _ letter: StoredLetter?) -> TracedWay {
        TracedWay(
            dispatcher: id, state: TracedWay.State(line.end), at: Timestamp(milliseconds: line.at),
            attempts: Int(line.sends), lastError: gate.trace.cause(line.cause) ?? letter?.letter.cause,
            letter: line.end == .dead ? letter?.number : nil)
    }

    /// One that died before the start: of its attempts those are known that were charged, and there was one at least.
    private func dead(_ id: String, _ letter: StoredLetter) -> TracedWay {
        TracedWay(
            dispatcher: id, state: .dead, at: letter.letter.diedAt, attempts: max(1, letter.letter.attempts),
            lastError: letter.letter.cause, letter: letter.number)
    }

    /// The dispatcher is removed, and its queue kept.
    private func orphaned(_ id: String, _ place: SequenceNumber) -> (told: TracedWay, survey: EventSurvey?)? {
        guard let stored = gate.dispatchers.known[id], !stored.settled.contains(place) else { return nil }
        let way = TracedWay(dispatcher: id, state: .pending, attempts: 0, ahead: 0)
        return (way, count(after: stored.position, before: place, stored.settled))
    }
}

extension DeadLetter {
    /// What it died of, in a few words.
    fileprivate var cause: String {
        status.map { "HTTP \($0)" } ?? answer ?? reason.rawValue
    }
}

extension EventStore {
    /// A store that has no thread for it is asked for one chunk after the other.
    public func survey(_ survey: EventSurvey, then: @escaping (Result<EventSurvey, StoreFault>) -> Void) {
        read(after: survey.position) { result in
            then(
                result.map { chunk in
                    var survey = survey
                    survey.take(chunk)
                    return survey
                })
        }
    }
}

extension Headgate {
    /// Finds the events of an id, and what became of each (Behaviour O2). Several have one where it was given in several
    /// namespaces, or again when it was remembered no more, or where a dead letter was requeued.
    /// - Parameters:
    ///   - namespace: in which the id was given; nil is any.
    ///   - then: gets the events by their places; none where the id is unknown, or forgotten.
    public func trace(
        _ id: String, in namespace: String?, then: @escaping (Result<[TracedEvent], StoreFault>) -> Void
    ) {
        trace.inTurn { [self] done in
            TraceQuery(self, id, in: namespace) { result in
                then(result)
                done()
            }.begin()
        }
    }

    /// The barriers that hold an event of a dispatcher now.
    fileprivate func blockers(of place: SequenceNumber, for dispatcher: String) -> [String] {
        let isFlushed = flushes.target(for: dispatcher).map { place <= $0 } ?? false
        return coordinator.blockers(of: dispatcher, flushing: isFlushed).map(\.id)
    }

    /// The user who sent an event, by its context.
    fileprivate func readUser(of event: StoredEvent) -> Int? {
        event.context.withUnsafeBytes(surroundings.readObject)?.get(key: "uid")
    }
}
