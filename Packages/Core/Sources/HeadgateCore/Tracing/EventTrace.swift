import HeadgateData

/// The records that a gate keeps for traces (Behaviour O2): the newest events with their outcomes, and the causes of
/// failed attempts. Pending events and dead letters are in the store; ``TraceQuery`` combines everything.
public final class EventTrace {
    @exclusivity(unchecked) private var memory: TraceMemory
    private var failures: [DispatcherNumber: FailureLog] = [:]
    private var causes: InternedTexts
    private var namespaces: InternedTexts
    private var contexts: ContextNamespaces
    /// The outcomes of events that an earlier daemon received.
    private var earlier: TracesBeforeStart
    /// The newest event that an earlier daemon received.
    private let lastEarlier: SequenceNumber

    /// The default number of events that are remembered.
    public static let `default` = 65_536
    /// The most events that can be remembered. Finding an id among them takes some milliseconds.
    public static let most = 10_000_000
    private static let mostWords = 1_024
    /// The longest possible namespace in bytes: 256 characters of at most 4 bytes, after a prefix for the user.
    private static let longestNamespace = 2_048

    /// - Parameters:
    ///   - lastEarlier: the newest event that an earlier daemon received.
    ///   - readObject: reads the context of stored events.
    init(
        lastEarlier: SequenceNumber = 0, readObject: @escaping (UnsafeRawBufferPointer) -> DataObject? = { _ in nil }
    ) {
        self.lastEarlier = lastEarlier
        contexts = ContextNamespaces(readObject: readObject)
        var random = SystemRandomNumberGenerator()
        let seed = random.next() as UInt64
        memory = TraceMemory(capacity: EventTrace.default, seed: seed)
        causes = InternedTexts(most: EventTrace.mostWords, hash: TraceHash(seed: seed))
        namespaces = InternedTexts(
            most: EventTrace.mostWords, longest: EventTrace.longestNamespace, hash: TraceHash(seed: seed))
        earlier = TracesBeforeStart(capacity: EventTrace.default, seed: seed)
    }

    /// The number of newest events that are remembered with their outcomes; 0 for none.
    public var remembered: Int {
        get { memory.capacity }
        set {
            memory.setCapacity(newValue)
            earlier.setCapacity(newValue)
        }
    }

    /// Returns the number of a namespace, for ``TrackedEvent/namespace``.
    public func number(ofNamespace namespace: String) -> UInt32 { namespaces.number(of: namespace) }

    // MARK: Facts

    /// Adds an accepted event to the entries of its group.
    func accepted(
        _ event: TrackedEvent, _ sequenceNumber: SequenceNumber, receivedAt: Timestamp, in group: inout TraceGroup
    ) {
        memory.accepted(
            id: event.id, name: event.name, sequenceNumber, receivedAt: receivedAt, route: event.route,
            namespace: event.namespace, in: &group)
    }

    /// Adds the event of a requeued dead letter to the entries of its group.
    func readmitted(
        _ event: StoredEvent, _ sequenceNumber: SequenceNumber, route: RouteNumber, namespace: InternedTexts.Number,
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

    /// Records that a dispatcher has settled events.
    func settled(_ events: [SettledEvent], by dispatcher: DispatcherNumber, as end: DeliveryOutcome, at wall: Timestamp)
    {
        let failures = failures[dispatcher]
        memory.settled(events, by: dispatcher, as: end, at: wall) { failures?.cause(of: $0) ?? 0 }
    }

    /// Returns true if an earlier daemon received an event. Its settlement has to be reported to
    /// ``settledEarlier(_:sends:by:as:at:)``.
    func isEarlier(_ sequenceNumber: SequenceNumber) -> Bool { hasEarlier(in: sequenceNumber...sequenceNumber) }

    /// Returns true if a range contains events that an earlier daemon received, and that are among its newest. Older
    /// events of a long backlog are not recorded and cost nothing.
    func hasEarlier(in range: ClosedRange<SequenceNumber>) -> Bool {
        range.lowerBound <= lastEarlier && range.upperBound > lastEarlier - SequenceNumber(memory.capacity)
    }

    /// Records that a dispatcher has settled an event that an earlier daemon received.
    func settledEarlier(
        _ event: StoredEvent, sends: UInt32, by dispatcher: DispatcherNumber, as end: DeliveryOutcome,
        at wall: Timestamp
    ) {
        let cause = failures[dispatcher]?.cause(of: event.sequenceNumber) ?? 0
        let line = SettlementLog.Line(
            first: event.sequenceNumber, count: 1, sends: sends, cause: cause, end: end, at: wall.milliseconds)
        let namespace = namespaceByContext(of: event).map(number) ?? 0
        earlier.add(event, line, by: dispatcher, namespace: namespace)
    }

    /// Records expired events that a dispatcher had not buffered.
    func expiredEarlier(_ events: [StoredEvent], of dispatcher: DispatcherNumber, at wall: Timestamp) {
        for event in events where isEarlier(event.sequenceNumber) {
            settledEarlier(event, sends: 0, by: dispatcher, as: .expired, at: wall)
        }
    }

    /// Records a failed attempt with some events of a dispatcher.
    func failed(_ events: SequenceSet, of dispatcher: DispatcherNumber, cause: String) {
        let number = causes.number(of: cause)
        var log = failures.removeValue(forKey: dispatcher) ?? FailureLog()
        for range in events.ranges { log.append(range, number) }
        failures[dispatcher] = log
    }

    /// Forgets the names of erased events (Behaviour E1).
    func forget(_ events: Set<SequenceNumber>) {
        memory.forgetNames(of: events)
        earlier.forgetNames(of: events)
    }

    func forget(_ dispatcher: DispatcherNumber) {
        memory.forget(dispatcher)
        earlier.forget(dispatcher)
        failures[dispatcher] = nil
    }

    // MARK: Queries

    /// The oldest remembered event. All stored events from it on are remembered. Nil if there is none.
    var oldestRemembered: SequenceNumber? { memory.oldest }

    func events(of id: String) -> [TraceMemory.Remembered] { memory.events(of: id) }

    /// Returns the events with an id that an earlier daemon received and a dispatcher of this one has settled.
    func earlierEvents(of id: String) -> [TracesBeforeStart.Settled] { earlier.events(of: id) }

    func outcome(of sequenceNumber: SequenceNumber, for dispatcher: DispatcherNumber) -> SettlementLog.Line? {
        memory.outcome(of: sequenceNumber, for: dispatcher)
            ?? (isEarlier(sequenceNumber) ? earlier.outcome(of: sequenceNumber, for: dispatcher) : nil)
    }

    /// Returns the number of the namespace in which an event was accepted, or 0 if it is not remembered.
    func namespace(of id: String, at sequenceNumber: SequenceNumber) -> InternedTexts.Number {
        memory.events(of: id).last { $0.sequenceNumber == sequenceNumber }?.namespace ?? 0
    }

    /// Returns the cause of the last failed attempt of an event, or nil if none is known.
    func lastError(of sequenceNumber: SequenceNumber, for dispatcher: DispatcherNumber) -> String? {
        failures[dispatcher].flatMap { causes[$0.cause(of: sequenceNumber)] }
    }

    func cause(_ number: InternedTexts.Number) -> String? { causes[number] }

    func namespace(_ number: InternedTexts.Number) -> String? { namespaces[number] }

    /// Returns the namespace that a stored event's context gives, or nil if the context does not say.
    func namespaceByContext(of event: StoredEvent) -> String? { contexts.namespace(of: event) }

    /// The remembered namespaces, the newest last.
    var knownNamespaces: [String] { namespaces.all }
}
