import HeadgateCore
import HeadgateCoreTesting

/// A store in memory that is slow or full when the history says so, and knows what is safe by now.
final class SimulatedStore: EventStore {
    /// What is safe, with the numbers of the dispatchers that each event goes to.
    private(set) var safe: [SequenceNumber: Set<DispatcherNumber>] = [:]
    private let faulty: FaultyStore
    private var routes: [RouteNumber: Set<DispatcherNumber>] = [:]

    init(scheduler: any Scheduler) {
        faulty = FaultyStore(scheduler: scheduler)
    }

    var kind: String { faulty.kind }

    /// Whether the disk is full.
    var isFull: Bool {
        get { faulty.memory.fault != nil }
        set { faulty.memory.fault = newValue ? .noRoom("full") : nil }
    }

    /// From now on appends are not answered.
    func hold() {
        faulty.holdsAppends = true
    }

    /// Answers what was held, and all from now on.
    func letGo() {
        faulty.holdsAppends = false
        for _ in 0..<8 { faulty.releaseAppend() }
    }

    func open() throws(StoreFault) -> StoredState { try faulty.open() }

    func append(_ group: AppendGroup, then: @escaping (StoreFault?) -> Void) {
        faulty.append(group) { [self] fault in
            if fault == nil { note(group) }
            then(fault)
        }
    }

    private func note(_ group: AppendGroup) {
        for (number, dispatchers) in group.newRoutes { routes[number] = Set(dispatchers) }
        for event in group.chunk { safe[event.sequenceNumber] = routes[event.route] }
    }

    func read(after number: SequenceNumber, then: @escaping (Result<Chunk?, StoreFault>) -> Void) {
        faulty.read(after: number, then: then)
    }

    func readAged(_ stretch: AgedStretch, then: @escaping (Result<Chunk?, StoreFault>) -> Void) {
        faulty.readAged(stretch, then: then)
    }

    func write(_ changes: [StoreChange], then: @escaping (StoreFault?) -> Void) {
        faulty.write(changes, then: then)
    }

    func readLetters(_ query: LetterQuery, then: @escaping (Result<LetterPage, StoreFault>) -> Void) {
        faulty.readLetters(query, then: then)
    }

    func purgeLetters(_ query: LetterQuery, then: @escaping (Result<Int, StoreFault>) -> Void) {
        faulty.purgeLetters(query, then: then)
    }

    func close(then: @escaping () -> Void) {
        faulty.close(then: then)
    }
}
