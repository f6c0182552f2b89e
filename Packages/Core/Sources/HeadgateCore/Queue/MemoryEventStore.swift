/// Keeps events in memory: for tests, and for `durability: memory` (Behaviour Q1, Q5). Nothing survives the process.
public final class MemoryEventStore: EventStore {
    public let kind = "memory"

    private let worker: any Worker
    private var chunks: [Chunk] = []
    private var state = StoredState()
    /// When set, appends and changes fail with it: a test's full disk.
    public var fault: StoreFault?
    /// What was put aside (Behaviour D10).
    public private(set) var deadLetters: [DeadLetter] = []
    /// How many groups were kept.
    public private(set) var groupCount = 0

    private static let mostDeadLetters = 10_000

    public init(worker: any Worker) {
        self.worker = worker
    }

    /// What is kept now, as a store would give it back when opened again.
    public func open() throws(StoreFault) -> StoredState {
        var reopened = state
        for dispatcher in state.dispatchers { reopened.unsettled[dispatcher.number] = unsettled(of: dispatcher) }
        return reopened
    }

    public func append(_ group: AppendGroup, then: @escaping (StoreFault?) -> Void) {
        answer(fault, then) {
            chunks.append(group.chunk)
            groupCount += 1
            state.lastSequenceNumber = group.chunk.lastSequenceNumber
            state.routes.merge(group.newRoutes) { _, new in new }
            if let ids = group.recentIDs { state.recentIDs.append(ids) }
        }
    }

    public func read(
        after sequenceNumber: SequenceNumber, then: @escaping (Result<Chunk?, StoreFault>) -> Void
    ) {
        let chunk = chunks.first { $0.lastSequenceNumber > sequenceNumber }
        worker.soon { then(.success(chunk)) }
    }

    public func write(_ changes: [StoreChange], then: @escaping (StoreFault?) -> Void) {
        answer(fault, then) { changes.forEach(apply) }
    }

    public func close(then: @escaping () -> Void) {
        worker.soon(then)
    }

    private func answer(_ fault: StoreFault?, _ then: @escaping (StoreFault?) -> Void, unless work: () -> Void) {
        if fault == nil { work() }
        worker.soon { then(fault) }
    }

    private func apply(_ change: StoreChange) {
        switch change {
        case .dispatcher(let dispatcher):
            state.dispatchers.removeAll { $0.number == dispatcher.number }
            state.dispatchers.append(dispatcher)
        case .forgetDispatcher(let number):
            state.dispatchers.removeAll { $0.number == number }
        case .settled(let number, let settled):
            guard let index = state.dispatchers.firstIndex(where: { $0.number == number }) else { return }
            state.dispatchers[index].settled = settled
        case .deadLetter(let letter):
            deadLetters.append(letter)
            if deadLetters.count > MemoryEventStore.mostDeadLetters { deadLetters.removeFirst() }
        case .trim(let sequenceNumber):
            chunks.removeAll { $0.lastSequenceNumber <= sequenceNumber }
        case .forgetIDs(let stamp):
            state.recentIDs.removeAll { $0.receivedStamp <= stamp }
        case .keep(let name, let bytes):
            state.kept[name] = bytes
        }
    }

    private func unsettled(of dispatcher: StoredDispatcher) -> [RouteNumber: Tally] {
        let events = chunks.lazy.joined().filter {
            !dispatcher.settled.contains($0.sequenceNumber)
                && self.state.routes[$0.route]?.contains(dispatcher.number) == true
        }
        return events.reduce(into: [:]) { tallies, event in
            tallies[event.route, default: .zero] += Tally(events: 1, bytes: event.byteCount)
        }
    }
}
