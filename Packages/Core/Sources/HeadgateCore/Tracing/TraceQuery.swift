import HeadgateData

/// Finds the events of an id, wherever they are, and how each stands with its dispatchers (Behaviour O2).
///
/// First it asks what is remembered of the newest events, and of those that an earlier daemon received and this one settled. An id
/// that is not among these is looked for among what waits in the store, and among the dead letters: ``TraceRound`` goes over both,
/// for all queries at once, off the scheduler.
final class TraceQuery {
    let id: String
    /// Returns false once nobody waits for the answer.
    let isWanted: () -> Bool
    private let gate: Headgate
    /// Nil is any.
    private let namespace: String?
    private let then: (Result<[TracedEvent], StoreFault>) -> Void
    private var candidates: [SequenceNumber: Candidate] = [:]
    private var letters: [SequenceNumber: [StoredLetter]] = [:]
    private var traced: [TracedEvent] = []

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

    /// What is to be counted: how many events a dispatcher has before one.
    struct Count {
        fileprivate let event: Int
        fileprivate let way: Int
        let dispatcher: DispatcherNumber
        /// The event that the others come before.
        let place: SequenceNumber
        /// The dispatcher has all events up to this one in hand, or has settled them.
        let readThrough: SequenceNumber
        let settled: Settled
        /// How many the dispatcher has in hand that come before.
        fileprivate let inHand: Int
    }

    init(
        _ gate: Headgate, _ id: String, in namespace: String?, isWanted: @escaping () -> Bool,
        then: @escaping (Result<[TracedEvent], StoreFault>) -> Void
    ) {
        (self.gate, self.id, self.namespace, self.isWanted, self.then) = (gate, id, namespace, isWanted, then)
    }

    private var events: EventQueue { gate.events }

    // MARK: The answer

    func answer() { then(.success(traced)) }

    func fail(_ fault: StoreFault) { then(.failure(fault)) }

    /// Nobody waits for an answer.
    func drop() { then(.success([])) }

    // MARK: Candidates

    /// Takes what is remembered without the store.
    func takeRemembered() {
        for remembered in gate.trace.events(of: id) { take(remembered) }
        for earlier in gate.trace.earlierEvents(of: id) { take(earlier) }
    }

    private func take(_ remembered: TraceMemory.Remembered) {
        let known = gate.trace.namespace(remembered.namespace)
        guard isMeant(known) else { return }
        candidates[remembered.sequenceNumber] = Candidate(
            sequenceNumber: remembered.sequenceNumber, namespace: known, name: remembered.name,
            receivedAt: remembered.receivedAt,
            dispatchers: Set(events.routes.dispatchers(of: remembered.route)))
    }

    private func take(_ earlier: EarlierTraces.Settled) {
        let number = earlier.sequenceNumber
        let known = knownNamespace(of: number, or: nil)
        guard isMeant(known) else { return }
        var candidate =
            candidates[number]
            ?? Candidate(
                sequenceNumber: number, namespace: known, name: earlier.name, receivedAt: earlier.receivedAt,
                dispatchers: Set(events.routes.dispatchers(of: earlier.route)))
        candidate.dispatchers.insert(earlier.dispatcher)
        candidates[number] = candidate
    }

    /// Takes an event that was found in the store, if it has the id.
    func take(_ record: [UInt8]) {
        guard let event = Chunk(bytes: record, lastSequenceNumber: .max).event(at: 0), event.hasID(Array(id.utf8))
        else {
            return
        }
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

    private func knownNamespace(of event: StoredEvent) -> String? {
        knownNamespace(of: event.sequenceNumber, or: gate.namespaceByContext(of: event))
    }

    /// The namespace in which the id is remembered for this event; nil where it is not any more.
    /// - Parameter another: a namespace that it may be, beside those that are known.
    private func knownNamespace(of sequenceNumber: SequenceNumber, or another: String?) -> String? {
        gate.namespace(of: id, at: sequenceNumber, among: [namespace, another].compactMap(\.self))
    }

    /// The events of the store that have to be looked at; nil if there are none.
    var range: ClosedRange<SequenceNumber>? {
        if let namespace {
            if !candidates.isEmpty { return nil }
            if let place = events.firstEvent(of: id, in: namespace) { return place...place }
        }
        let end = gate.trace.oldestRemembered.map { $0 - 1 } ?? events.lastStored
        let start = gate.dispatchers.trimPoint()
        return start < end ? start + 1...end : nil
    }

    // MARK: Dead letters

    /// Takes a dead letter, if its event has the id.
    func take(_ letter: StoredLetter) {
        guard let event = letter.letter.event, event.hasID(Array(id.utf8)) else { return }
        take(letter.letter.record)
        guard candidates[letter.letter.sequenceNumber] != nil else { return }
        candidates[letter.letter.sequenceNumber]?.dispatchers.insert(letter.letter.dispatcher)
        letters[letter.letter.sequenceNumber, default: []].append(letter)
    }

    // MARK: Status of each

    /// Puts together what is known of each event. Returns what is to be counted yet; ``counted(_:_:)`` takes the numbers.
    func build() -> [Count] {
        var counts: [Count] = []
        for candidate in candidates.values.sorted(by: { $0.sequenceNumber < $1.sequenceNumber }) {
            var event = TracedEvent(
                namespace: candidate.namespace, sequenceNumber: candidate.sequenceNumber, name: candidate.name,
                receivedAt: candidate.receivedAt)
            let named = candidate.dispatchers.compactMap { number in
                gate.dispatchers.known.id(of: number).map { (id: $0, number: number) }
            }
            for (id, number) in named.sorted(by: { $0.id < $1.id }) {
                guard let way = way(of: candidate, id, number) else { continue }
                if let place = way.unread {
                    counts.append(
                        Count(
                            event: traced.count, way: event.dispatchers.count, dispatcher: number,
                            place: candidate.sequenceNumber, readThrough: place.readThrough, settled: place.settled,
                            inHand: way.told.ahead ?? 0))
                }
                event.dispatchers.append(way.told)
            }
            // Of what was settled before the start nothing is known.
            if candidate.event == nil || !event.dispatchers.isEmpty { traced.append(event) }
        }
        return counts
    }

    /// So many events of the dispatcher that it has not in hand come before the one in question.
    func counted(_ count: Count, _ before: Int) {
        traced[count.event].dispatchers[count.way].ahead = count.inHand + before
    }

    /// Where the part of a dispatcher's queue begins that it has not in hand.
    private struct Unread {
        let readThrough: SequenceNumber
        let settled: Settled
    }

    /// - Returns: nil where nothing is known any more; with a place where it has to be counted how many wait before.
    private func way(
        of candidate: Candidate, _ id: String, _ number: DispatcherNumber
    ) -> (told: TracedWay, unread: Unread?)? {
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
        return (way, Unread(readThrough: dispatcher.queue.readPosition, settled: dispatcher.queue.settled))
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
    private func orphaned(_ id: String, _ place: SequenceNumber) -> (told: TracedWay, unread: Unread?)? {
        guard let stored = gate.dispatchers.known[id], !stored.settled.contains(place) else { return nil }
        let way = TracedWay(dispatcher: id, state: .pending, attempts: 0, ahead: 0)
        return (way, Unread(readThrough: stored.position, settled: stored.settled))
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
    ///   - isWanted: returns false once nobody waits for the answer, so that nothing is looked for any more.
    ///   - then: called once: with the events by their places; none where the id is unknown, or forgotten, or the answer is not wanted.
    public func trace(
        _ id: String, in namespace: String?, isWanted: @escaping () -> Bool = { true },
        then: @escaping (Result<[TracedEvent], StoreFault>) -> Void
    ) {
        trace.ask(TraceQuery(self, id, in: namespace, isWanted: isWanted, then: then), of: self)
    }

    /// The barriers that hold an event of a dispatcher now.
    fileprivate func blockers(of place: SequenceNumber, for dispatcher: String) -> [String] {
        let isFlushed = flushes.target(for: dispatcher).map { place <= $0 } ?? false
        return coordinator.blockers(of: dispatcher, flushing: isFlushed).map(\.id)
    }

    /// The namespace in which an id is remembered for an event; nil where it is not any more.
    /// - Parameter candidates: namespaces to try first.
    func namespace(of id: String, at sequenceNumber: SequenceNumber, among candidates: [String]) -> String? {
        (candidates + trace.knownNamespaces).first { events.firstEvent(of: id, in: $0) == sequenceNumber }
    }

    /// The number of the namespace in which an event was accepted, for ``TrackedEvent/namespace``; 0 if it is not known any more.
    func namespaceNumber(of event: StoredEvent) -> TraceWords.Number {
        let id = String(event.id.withoutQuotes)
        let remembered = trace.namespace(of: id, at: event.sequenceNumber)
        guard remembered == 0 else { return remembered }
        let told = namespaceByContext(of: event)
        let known = namespace(of: id, at: event.sequenceNumber, among: told.map { [$0] } ?? []) ?? told
        return known.map(trace.number) ?? 0
    }

    /// The namespace of an event as its context tells it: the one that its client named, else its user's.
    func namespaceByContext(of event: StoredEvent) -> String? {
        guard let context = event.context.withUnsafeBytes(surroundings.readObject) else { return nil }
        return context.get(key: "namespace", as: String.self)
            ?? context.get(key: "uid", as: Int.self).map { "uid:\($0)" }
    }
}
