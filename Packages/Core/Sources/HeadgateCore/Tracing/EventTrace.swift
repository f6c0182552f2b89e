import HeadgateData

/// What a gate keeps so that events can be traced (Behaviour O2): the newest events with what became of them, and what attempts
/// failed of. What waits, and dead letters, are in the store anyway; `TraceQuery` puts all together.
public final class EventTrace {
    @exclusivity(unchecked) private var memory: TraceMemory
    private var failures: [DispatcherNumber: FailureLog] = [:]
    private var causes: TraceWords
    private var namespaces: TraceWords
    /// Queries that wait for the one before: each may go over a whole store.
    private var waiting: [() -> Void] = []
    private var isBusy = false

    /// How many events are remembered when nobody says anything else.
    public static let usual = 65_536
    /// The most that may be remembered: with these a look for an id takes some milliseconds.
    public static let most = 10_000_000
    private static let mostWords = 1_024

    init() {
        var random = SystemRandomNumberGenerator()
        let seed = random.next() as UInt64
        memory = TraceMemory(capacity: EventTrace.usual, seed: seed)
        causes = TraceWords(most: EventTrace.mostWords, hash: TraceHash(seed: seed))
        namespaces = causes
    }

    /// How many events are remembered with what became of them, the newest; 0 is none.
    public var remembered: Int {
        get { memory.capacity }
        set { memory.setCapacity(newValue) }
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
        _ event: StoredEvent, _ sequenceNumber: SequenceNumber, route: RouteNumber, in group: inout TraceGroup
    ) {
        event.withHead { head in
            let receivedAt = head.receivedAt.flatMap { Timestamp(rfc3339: $0) } ?? Timestamp(milliseconds: 0)
            memory.accepted(
                id: head.id, name: head.name ?? UnsafeRawBufferPointer(start: nil, count: 0), sequenceNumber,
                receivedAt: receivedAt, route: route, namespace: 0, in: &group)
        }
    }

    func stored(_ group: TraceGroup) { memory.stored(group) }

    /// A dispatcher has done with events.
    func settled(_ events: [SettledEvent], by dispatcher: DispatcherNumber, as end: DeliveryEnd, at wall: Timestamp) {
        let failures = failures[dispatcher]
        memory.settled(events, by: dispatcher, as: end, at: wall) { failures?.cause(of: $0) ?? 0 }
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
        failures[dispatcher] = nil
    }

    // MARK: Looking

    /// Every stored event from this one on is remembered; nil when none is.
    var oldestRemembered: SequenceNumber? { memory.oldest }

    func events(of id: String) -> [TraceMemory.Remembered] { memory.events(of: id) }

    func outcome(of sequenceNumber: SequenceNumber, for dispatcher: DispatcherNumber) -> SettlementLog.Line? {
        memory.outcome(of: sequenceNumber, for: dispatcher)
    }

    /// What the last attempt of an event failed of; nil when none is known.
    func lastError(of sequenceNumber: SequenceNumber, for dispatcher: DispatcherNumber) -> String? {
        failures[dispatcher].flatMap { causes[$0.cause(of: sequenceNumber)] }
    }

    func cause(_ number: TraceWords.Number) -> String? { causes[number] }

    func namespace(_ number: TraceWords.Number) -> String? { namespaces[number] }

    /// The namespaces of which something is known, the newest last.
    var knownNamespaces: [String] { namespaces.all }

    // MARK: One after the other

    /// Does something that may go over a whole store, once those before it have.
    func inTurn(_ work: @escaping (_ done: @escaping () -> Void) -> Void) {
        waiting.append { [self] in
            work {
                self.isBusy = false
                self.startNext()
            }
        }
        startNext()
    }

    private func startNext() {
        guard !isBusy, !waiting.isEmpty else { return }
        isBusy = true
        waiting.removeFirst()()
    }
}
