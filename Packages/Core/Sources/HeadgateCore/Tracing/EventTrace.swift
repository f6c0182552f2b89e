import HeadgateData

/// What a gate keeps so that events can be traced (Behaviour O2): the newest events with what became of them, and what attempts
/// failed of. What waits, and dead letters, are in the store anyway; `TraceQuery` puts all together.
public final class EventTrace {
    @exclusivity(unchecked) private var memory: TraceMemory
    private var failures: [DispatcherNumber: FailureLog] = [:]
    private var causes: TraceWords
    private var namespaces: TraceWords
    /// What became of events that an earlier daemon received.
    private var earlier: EarlierTraces
    /// The newest event that an earlier daemon received.
    private let lastEarlier: SequenceNumber
    /// Queries that wait for the round before: each round may go over a whole store.
    private var waiting: [TraceQuery] = []
    private var isBusy = false

    /// How many events are remembered when nobody says anything else.
    public static let usual = 65_536
    /// The most that may be remembered: with these a look for an id takes some milliseconds.
    public static let most = 10_000_000
    private static let mostWords = 1_024

    /// - Parameter lastEarlier: the newest event that an earlier daemon received.
    init(lastEarlier: SequenceNumber = 0) {
        self.lastEarlier = lastEarlier
        var random = SystemRandomNumberGenerator()
        let seed = random.next() as UInt64
        memory = TraceMemory(capacity: EventTrace.usual, seed: seed)
        causes = TraceWords(most: EventTrace.mostWords, hash: TraceHash(seed: seed))
        namespaces = causes
        earlier = EarlierTraces(capacity: EventTrace.usual, seed: seed)
    }

    /// How many events are remembered with what became of them, the newest; 0 is none.
    public var remembered: Int {
        get { memory.capacity }
        set {
            memory.setCapacity(newValue)
            earlier.setCapacity(newValue)
        }
    }

    /// The number of a namespace, for ``TrackedEvent/namespace``.
    public func number(ofNamespace namespace: String) -> UInt32 { namespaces.number(of: namespace) }

    // MARK: Facts

    /// An event has got its place in a group.
    func accepted(
        _ event: TrackedEvent, _ sequenceNumber: SequenceNumber, receivedAt: Timestamp, in group: inout TraceGroup
    ) {
        memory.accepted(
            id: event.id, name: event.name, sequenceNumber, receivedAt: receivedAt, route: event.route,
            namespace: event.namespace, in: &group)
    }

    /// The event of a dead letter has got another place in a group.
    func readmitted(
        _ event: StoredEvent, _ sequenceNumber: SequenceNumber, route: RouteNumber, namespace: TraceWords.Number,
        in group: inout TraceGroup
    ) {
        event.withHead { head in
            let receivedAt = head.receivedAt.flatMap { Timestamp(rfc3339: $0) } ?? Timestamp(milliseconds: 0)
            memory.accepted(
                id: head.id, name: head.name ?? UnsafeRawBufferPointer(start: nil, count: 0), sequenceNumber,
                receivedAt: receivedAt, route: route, namespace: namespace, in: &group)
        }
    }

    func stored(_ group: TraceGroup) { memory.stored(group) }

    /// A dispatcher has done with events.
    func settled(_ events: [SettledEvent], by dispatcher: DispatcherNumber, as end: DeliveryEnd, at wall: Timestamp) {
        let failures = failures[dispatcher]
        memory.settled(events, by: dispatcher, as: end, at: wall) { failures?.cause(of: $0) ?? 0 }
    }

    /// Returns true if an event was received by an earlier daemon, and is to be told by ``settledEarlier(_:sends:by:as:at:)`` when
    /// it is settled.
    func isEarlier(_ sequenceNumber: SequenceNumber) -> Bool { hasEarlier(in: sequenceNumber...sequenceNumber) }

    /// Returns true if some of these events were received by an earlier daemon and are among its newest: the others of a long
    /// backlog cost nothing.
    func hasEarlier(in range: ClosedRange<SequenceNumber>) -> Bool {
        range.lowerBound <= lastEarlier && range.upperBound > lastEarlier - SequenceNumber(memory.capacity)
    }

    /// A dispatcher has done with an event that an earlier daemon received.
    func settledEarlier(
        _ event: StoredEvent, sends: UInt32, by dispatcher: DispatcherNumber, as end: DeliveryEnd, at wall: Timestamp
    ) {
        let cause = failures[dispatcher]?.cause(of: event.sequenceNumber) ?? 0
        let line = SettlementLog.Line(
            first: event.sequenceNumber, count: 1, sends: sends, cause: cause, end: end, at: wall.milliseconds)
        earlier.add(event, line, by: dispatcher)
    }

    /// Events were too old that a dispatcher had not in hand.
    func expiredEarlier(_ events: [StoredEvent], of dispatcher: DispatcherNumber, at wall: Timestamp) {
        for event in events where isEarlier(event.sequenceNumber) {
            settledEarlier(event, sends: 0, by: dispatcher, as: .expired, at: wall)
        }
    }

    /// An attempt with some events of a dispatcher has failed.
    func failed(_ events: SequenceSet, of dispatcher: DispatcherNumber, cause: String) {
        let number = causes.number(of: cause)
        var log = failures.removeValue(forKey: dispatcher) ?? FailureLog()
        for stretch in events.stretches { log.append(stretch, number) }
        failures[dispatcher] = log
    }

    func forget(_ dispatcher: DispatcherNumber) {
        memory.forget(dispatcher)
        earlier.forget(dispatcher)
        failures[dispatcher] = nil
    }

    // MARK: Queries

    /// Every stored event from this one on is remembered; nil when none is.
    var oldestRemembered: SequenceNumber? { memory.oldest }

    func events(of id: String) -> [TraceMemory.Remembered] { memory.events(of: id) }

    /// The events of an id that an earlier daemon received and a dispatcher of this one has done with.
    func earlierEvents(of id: String) -> [EarlierTraces.Settled] { earlier.events(of: id) }

    func outcome(of sequenceNumber: SequenceNumber, for dispatcher: DispatcherNumber) -> SettlementLog.Line? {
        memory.outcome(of: sequenceNumber, for: dispatcher)
            ?? (isEarlier(sequenceNumber) ? earlier.outcome(of: sequenceNumber, for: dispatcher) : nil)
    }

    /// The number of the namespace in which an event of an id was accepted, if that is remembered; 0 if not.
    func namespace(of id: String, at sequenceNumber: SequenceNumber) -> TraceWords.Number {
        memory.events(of: id).last { $0.sequenceNumber == sequenceNumber }?.namespace ?? 0
    }

    /// What the last attempt of an event failed of; nil when none is known.
    func lastError(of sequenceNumber: SequenceNumber, for dispatcher: DispatcherNumber) -> String? {
        failures[dispatcher].flatMap { causes[$0.cause(of: sequenceNumber)] }
    }

    func cause(_ number: TraceWords.Number) -> String? { causes[number] }

    func namespace(_ number: TraceWords.Number) -> String? { namespaces[number] }

    /// The namespaces of which something is known, the newest last.
    var knownNamespaces: [String] { namespaces.all }

    // MARK: One round at a time

    /// Answers a query, together with all others that wait by then.
    func ask(_ query: TraceQuery, of gate: Headgate) {
        waiting.append(query)
        startNext(gate)
    }

    private func startNext(_ gate: Headgate) {
        guard !isBusy, !waiting.isEmpty else { return }
        isBusy = true
        // What else is asked for in this turn is answered in the same round.
        gate.scheduler.soon { [self] in
            let queries = waiting
            waiting = []
            TraceRound(gate, queries) { [self] in
                isBusy = false
                startNext(gate)
            }.begin()
        }
    }
}
