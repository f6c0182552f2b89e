import HeadgateData

/// A query that finds the events with an id and their state at each dispatcher (Behaviour O2).
///
/// It first searches the remembered events. An id that is not among them is searched for in the backlog and the dead
/// letters. ``TracePass`` scans both for all queries at once, off the scheduler.
final class TraceQuery {
    let id: String
    /// Returns false once no client waits for the answer.
    let isAwaited: () -> Bool
    private let gate: Headgate
    /// The namespace of the id; nil for any.
    private let namespace: String?
    private let then: (Result<[TracedEvent], StoreFault>) -> Void
    private var candidates: [SequenceNumber: Candidate] = [:]
    private var deadLetters: [SequenceNumber: [StoredDeadLetter]] = [:]
    private var traced: [TracedEvent] = []

    /// An event with the id.
    private struct Candidate {
        var sequenceNumber: SequenceNumber
        var namespace: String?
        var name: String?
        var receivedAt: Timestamp?
        var dispatchers: Set<DispatcherNumber>
        /// The event from the store; nil if only the trace knows it.
        var event: StoredEvent?
    }

    /// A request to count the events that a dispatcher has before an event.
    struct Count {
        fileprivate let event: Int
        fileprivate let trace: Int
        let dispatcher: DispatcherNumber
        /// The sequence number of the traced event. The pending events before it are counted.
        let sequenceNumber: SequenceNumber
        /// All events up to this one are buffered or settled.
        let readThrough: SequenceNumber
        let settled: Settled
        /// The number of buffered events before the event.
        fileprivate let buffered: Int
    }

    init(
        _ gate: Headgate, _ id: String, in namespace: String?, isAwaited: @escaping () -> Bool,
        then: @escaping (Result<[TracedEvent], StoreFault>) -> Void
    ) {
        (self.gate, self.id, self.namespace, self.isAwaited, self.then) = (gate, id, namespace, isAwaited, then)
    }

    private var events: EventQueue { gate.events }

    // MARK: The answer

    func answer() { then(.success(traced)) }

    func fail(_ fault: StoreFault) { then(.failure(fault)) }

    /// Ends a query that no client waits for.
    func drop() { then(.success([])) }

    // MARK: Candidates

    /// Collects the remembered events, without reading the store.
    func takeRemembered() {
        for remembered in gate.trace.events(of: id) { take(remembered) }
        for earlier in gate.trace.earlierEvents(of: id) { take(earlier) }
    }

    private func take(_ remembered: TraceMemory.Remembered) {
        let known = gate.trace.namespace(remembered.namespace)
        guard matches(known) else { return }
        candidates[remembered.sequenceNumber] = Candidate(
            sequenceNumber: remembered.sequenceNumber, namespace: known, name: remembered.name,
            receivedAt: remembered.receivedAt,
            dispatchers: Set(events.routes.dispatchers(of: remembered.route)))
    }

    private func take(_ earlier: TracesBeforeStart.Settled) {
        let number = earlier.sequenceNumber
        let known = knownNamespace(of: number, or: gate.trace.namespace(earlier.namespace))
        guard matches(known) else { return }
        var candidate =
            candidates[number]
            ?? Candidate(
                sequenceNumber: number, namespace: known, name: earlier.name, receivedAt: earlier.receivedAt,
                dispatchers: Set(events.routes.dispatchers(of: earlier.route)))
        candidate.dispatchers.insert(earlier.dispatcher)
        candidates[number] = candidate
    }

    /// Collects an event from the store if it has the id.
    func take(_ record: [UInt8]) {
        guard let event = Chunk(bytes: record, lastSequenceNumber: .max).event(at: 0), event.hasID(Array(id.utf8))
        else {
            return
        }
        let known = knownNamespace(of: event)
        guard matches(known), candidates[event.sequenceNumber] == nil else { return }
        candidates[event.sequenceNumber] = Candidate(
            sequenceNumber: event.sequenceNumber, namespace: known, name: event.name, receivedAt: event.receivedAt,
            dispatchers: Set(events.routes.dispatchers(of: event.route)), event: event)
    }

    /// Returns true if an event may be in the requested namespace. An unknown namespace counts as a match.
    private func matches(_ known: String?) -> Bool {
        guard let namespace, let known else { return true }
        return namespace == known
    }

    private func knownNamespace(of event: StoredEvent) -> String? {
        knownNamespace(of: event.sequenceNumber, or: gate.trace.namespaceByContext(of: event))
    }

    /// Returns the namespace in which the id is remembered for an event, else the one that the event's context gives. A requeued event
    /// has a number under which no id is remembered.
    private func knownNamespace(of sequenceNumber: SequenceNumber, or byContext: String?) -> String? {
        gate.namespace(of: id, at: sequenceNumber, among: [namespace, byContext].compactMap(\.self)) ?? byContext
    }

    /// The events of the store that have to be scanned; nil if there are none.
    var range: ClosedRange<SequenceNumber>? {
        if let namespace {
            if !candidates.isEmpty { return nil }
            if let sequenceNumber = events.firstEvent(of: id, in: namespace) { return sequenceNumber...sequenceNumber }
        }
        let end = gate.trace.oldestRemembered.map { $0 - 1 } ?? events.lastStored
        let start = gate.dispatchers.known.trimPoint { gate.dispatchers.there($0)?.queue.position }
        return start < end ? start + 1...end : nil
    }

    // MARK: Dead letters

    /// Collects a dead letter if its event has the id.
    func take(_ stored: StoredDeadLetter) {
        guard let event = stored.deadLetter.event, event.hasID(Array(id.utf8)) else { return }
        take(stored.deadLetter.record)
        guard candidates[stored.deadLetter.sequenceNumber] != nil else { return }
        candidates[stored.deadLetter.sequenceNumber]?.dispatchers.insert(stored.deadLetter.dispatcher)
        deadLetters[stored.deadLetter.sequenceNumber, default: []].append(stored)
    }

    // MARK: Status of each

    /// Assembles the state of each event. Returns the counts that are still needed; their results go to
    /// ``counted(_:_:)``.
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
                guard var found = trace(of: candidate, id, number) else { continue }
                let replay = gate.dispatchers.known.replays[number]
                found.state.isReplayed = replay?.contains(candidate.sequenceNumber) ?? false
                if let unread = found.unread {
                    counts.append(
                        Count(
                            event: traced.count, trace: event.dispatchers.count, dispatcher: number,
                            sequenceNumber: candidate.sequenceNumber, readThrough: unread.readThrough,
                            settled: unread.settled,
                            buffered: found.state.ahead ?? 0))
                }
                event.dispatchers.append(found.state)
            }
            // An event that was settled before the start, and is not remembered, is left out.
            if candidate.event == nil || !event.dispatchers.isEmpty { traced.append(event) }
        }
        return counts
    }

    /// Adds the number of events that come before an event and are not buffered.
    func counted(_ count: Count, _ before: Int) {
        traced[count.event].dispatchers[count.trace].ahead = count.buffered + before
    }

    /// The beginning of the part of a dispatcher's queue that is not buffered.
    private struct Unread {
        let readThrough: SequenceNumber
        let settled: Settled
    }

    /// Returns the state of an event at a dispatcher, and the unread part of the queue if the events before it have to
    /// be counted.
    /// - Returns: nil if nothing is known any more.
    private func trace(
        of candidate: Candidate, _ id: String, _ number: DispatcherNumber
    ) -> (state: DispatcherTrace, unread: Unread?)? {
        let sequenceNumber = candidate.sequenceNumber
        let stored = deadLetters[sequenceNumber]?.last { $0.deadLetter.dispatcher == number }
        let dispatcher = gate.dispatchers.there(id)
        // An event that a rewind made pending again has an outcome from before.
        let isPendingAgain = dispatcher?.queue.isPendingAgain(sequenceNumber) ?? false
        if !isPendingAgain {
            if let line = gate.trace.outcome(of: sequenceNumber, for: number) { return (ended(id, line, stored), nil) }
            if let stored { return (dead(id, stored), nil) }
        }
        guard let dispatcher else { return orphaned(id, sequenceNumber) }
        let lastError = gate.trace.lastError(of: sequenceNumber, for: number)
        if let entry = dispatcher.queue.entries(of: [sequenceNumber]).first {
            var trace = DispatcherTrace(
                dispatcher: id, state: .pending, attempts: Int(entry.progress.sends), lastError: lastError)
            if entry.progress.isInFlight {
                (trace.state, trace.at) = (.inFlight, dispatcher.sentAt(of: sequenceNumber))
            } else {
                trace.ahead = dispatcher.queue.entries.count { $0.sequenceNumber < sequenceNumber }
                trace.blockedBy = gate.blockers(of: sequenceNumber, for: id)
            }
            return (trace, nil)
        }
        guard dispatcher.queue.isUnread(sequenceNumber) else { return nil }
        if let event = candidate.event, dispatcher.queue.isSwept(sequenceNumber), events.hasPassed(event) {
            return (DispatcherTrace(dispatcher: id, state: .expired, attempts: 0), nil)
        }
        var trace = DispatcherTrace(dispatcher: id, state: .pending, attempts: 0, lastError: lastError)
        trace.ahead = dispatcher.queue.count
        trace.blockedBy = gate.blockers(of: sequenceNumber, for: id)
        return (trace, Unread(readThrough: dispatcher.queue.readPosition, settled: dispatcher.queue.settled))
    }

    private func ended(_ id: String, _ line: SettlementLog.Line, _ stored: StoredDeadLetter?) -> DispatcherTrace {
        DispatcherTrace(
            dispatcher: id, state: DispatcherTrace.State(line.end), at: Timestamp(milliseconds: line.at),
            attempts: Int(line.sends), lastError: gate.trace.cause(line.cause) ?? stored?.deadLetter.cause,
            deadLetter: line.end == .dead ? stored?.number : nil)
    }

    /// Returns the state of an event that was dead-lettered before the start. Only its charged attempts are known: none
    /// if it was never sent.
    private func dead(_ id: String, _ stored: StoredDeadLetter) -> DispatcherTrace {
        DispatcherTrace(
            dispatcher: id, state: .dead, at: stored.deadLetter.diedAt, attempts: stored.deadLetter.attempts,
            lastError: stored.deadLetter.cause, deadLetter: stored.number)
    }

    /// Returns the state of an event whose dispatcher was removed, while its queue is kept.
    private func orphaned(_ id: String, _ sequenceNumber: SequenceNumber) -> (state: DispatcherTrace, unread: Unread?)?
    {
        guard let stored = gate.dispatchers.known[id], !stored.settled.contains(sequenceNumber) else { return nil }
        let trace = DispatcherTrace(dispatcher: id, state: .pending, attempts: 0, ahead: 0)
        return (trace, Unread(readThrough: stored.position, settled: stored.settled))
    }
}

extension DeadLetter {
    /// The cause of death in a few words.
    fileprivate var cause: String {
        status.map { "HTTP \($0)" } ?? answer ?? reason.rawValue
    }
}

extension EventStore {
    /// The default for stores without a thread for scans: processes one chunk per call.
    public func scan(_ scan: EventScan, then: @escaping (Result<EventScan, StoreFault>) -> Void) {
        read(after: scan.position) { result in
            then(
                result.map { chunk in
                    var scan = scan
                    scan.take(chunk)
                    return scan
                })
        }
    }
}

extension Headgate {
    /// Finds the events with an id and their outcomes (Behaviour O2). There may be several: from several namespaces,
    /// from a repetition after the dedupe window, or from a requeued dead letter.
    /// - Parameters:
    ///   - id: the id of the events.
    ///   - namespace: the namespace of the id; nil for any.
    ///   - isAwaited: returns false once no client waits for the answer, so that the search stops.
    ///   - then: is called once, with the events by sequence number. There are none if the id is unknown or forgotten,
    ///     or if the answer is not wanted.
    public func trace(
        _ id: String, in namespace: String?, isAwaited: @escaping () -> Bool = { true },
        then: @escaping (Result<[TracedEvent], StoreFault>) -> Void
    ) {
        traceQueries.ask(TraceQuery(self, id, in: namespace, isAwaited: isAwaited, then: then), of: self)
    }

    /// Returns the barriers that hold an event of a dispatcher now.
    fileprivate func blockers(of sequenceNumber: SequenceNumber, for dispatcher: String) -> [String] {
        let isFlushed = flushes.target(for: dispatcher).map { sequenceNumber <= $0 } ?? false
        return coordinator.blockers(of: dispatcher, flushing: isFlushed).map(\.id)
    }

    /// Returns the namespace in which an id is remembered for an event, or nil if it is not remembered.
    /// - Parameter candidates: the namespaces to try first.
    func namespace(of id: String, at sequenceNumber: SequenceNumber, among candidates: [String]) -> String? {
        (candidates + trace.knownNamespaces).first { events.firstEvent(of: id, in: $0) == sequenceNumber }
    }

    /// Returns the number of the namespace in which an event was accepted, for ``TrackedEvent/namespace``, or 0 if it
    /// is unknown.
    func namespaceNumber(of event: StoredEvent) -> InternedTexts.Number {
        let id = String(event.id.withoutQuotes)
        let remembered = trace.namespace(of: id, at: event.sequenceNumber)
        guard remembered == 0 else { return remembered }
        let state = trace.namespaceByContext(of: event)
        let known = namespace(of: id, at: event.sequenceNumber, among: state.map { [$0] } ?? []) ?? state
        return known.map(trace.number) ?? 0
    }
}
