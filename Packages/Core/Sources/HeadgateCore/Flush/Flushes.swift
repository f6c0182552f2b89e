import HeadgateData

/// Starts and ends flushes, and tells those who wait for them.
final class Flushes {
    private let scheduler: any Scheduler
    private let coordinator: BarrierCoordinator
    /// Is told of each dispatcher of which flushes begin or end.
    private let turn: TurnRecord
    private var lastNumber = 0
    /// Not checked for exclusive access: each look of each dispatcher asks it, and it asks nobody.
    @exclusivity(unchecked) private(set) var table = FlushTable()
    private var waiters = NameTable<(FlushAnswer) -> Void>()
    private var alarm: (any Disposable)?

    init(scheduler: any Scheduler, coordinator: BarrierCoordinator, turn: TurnRecord) {
        self.scheduler = scheduler
        self.coordinator = coordinator
        self.turn = turn
    }

    /// A name that no flush under way has. Clients may have called theirs anything.
    func unusedName() -> String {
        repeat { lastNumber += 1 } while isUnderWay("flush-\(lastNumber)")
        return "flush-\(lastNumber)"
    }

    /// Begins a flush; `then` is told how it ended, later, also when there is nothing to wait for.
    func start(
        _ id: String, parts: [String: FlushTable.Part], timeout: Duration?, then: @escaping (FlushAnswer) -> Void
    ) {
        waiters[id] = then
        table.start(
            FlushTable.Flush(
                id: id, parts: parts, since: scheduler.wall, timeout: timeout,
                deadline: timeout.map { scheduler.now + $0 }))
        for dispatcher in parts.keys { turn.wayChanged(dispatcher) }
        // By then all that was readable in this turn is read.
        scheduler.atEndOfTurn(.facts) { [weak self] in self?.timePassed() }
    }

    /// Events that a flush covers turned out not to be stored: no more than so many are left of a dispatcher's.
    func limit(_ id: String, _ dispatcher: String, to left: Int) {
        change(dispatcher) { $0.limit(id, dispatcher, to: left) }
    }

    func isUnderWay(_ id: String) -> Bool { waiters[id] != nil }

    /// Up to which event flushable barriers of a dispatcher are ignored now; nil while it is not flushed.
    func target(for dispatcher: String) -> SequenceNumber? {
        table.target(for: dispatcher)
    }

    /// Ends a flush before its time; false when it is unknown.
    func cancel(_ id: String) -> Bool {
        guard let flush = table.take(id) else { return false }
        end(flush, .cancelled)
        return true
    }

    /// Ends all flushes before their time: the service is about to stop.
    func cancelAll() {
        for flush in table.flushes { _ = cancel(flush.id) }
    }

    /// Events of a dispatcher are settled, and so are all up to `position`.
    func settled(
        _ sequenceNumbers: some Collection<SequenceNumber>, of dispatcher: String, sent: Bool, position: SequenceNumber
    ) {
        change(dispatcher) { $0.settled(sequenceNumbers, of: dispatcher, sent: sent, position: position) }
    }

    /// Events of a dispatcher were dropped by transformations, and all up to `position` are settled.
    func dropped(_ sequenceNumbers: some Collection<SequenceNumber>, of dispatcher: String, position: SequenceNumber) {
        change(dispatcher) { $0.dropped(sequenceNumbers, of: dispatcher, position: position) }
    }

    /// Less is left of a dispatcher's flushes, or nothing: then the way is another one, though they may go on elsewhere.
    private func change(_ dispatcher: String, _ change: (inout FlushTable) -> Void) {
        guard let before = target(for: dispatcher) else { return }
        change(&table)
        if target(for: dispatcher) != before { turn.wayChanged(dispatcher) }
        endThoseOver(at: nil)
    }

    func removeDispatcher(_ dispatcher: String) {
        table.remove(dispatcher)
        endThoseOver(at: nil)
    }

    /// - Parameter now: nil: time is not looked at.
    private func endThoseOver(at now: Instant?) {
        for flush in table.takeOver(at: now) { end(flush, flush.end) }
        alarm?.dispose()
        alarm = table.nextDeadline.map { scheduler.schedule(at: $0) { [weak self] in self?.timePassed() } }
    }

    private func timePassed() { endThoseOver(at: scheduler.now) }

    private func end(_ flush: FlushTable.Flush, _ end: FlushAnswer.End) {
        let parts = flush.parts.map { dispatcher, part in
            let blockedBy = part.left > 0 ? coordinator.blockers(of: dispatcher, flushing: true).map(\.id) : []
            let answer = FlushAnswer.Part(
                sent: part.sent, failed: part.failed, left: part.left, blockedBy: blockedBy)
            return (dispatcher, answer)
        }
        let waiter = waiters.removeValue(forKey: flush.id)
        for dispatcher in flush.parts.keys { turn.wayChanged(dispatcher) }
        waiter?(FlushAnswer(ended: end, dispatchers: Dictionary(uniqueKeysWithValues: parts)))
    }
}

/// How a flush ended (Behaviour F2).
public struct FlushAnswer: Sendable, Equatable {
    public var ended: End
    /// What it did for each dispatcher.
    public var dispatchers: [String: Part]

    public enum End: String, Sendable {
        /// All that it covered is settled.
        case settled
        /// Its time ran out.
        case timeout
        /// Somebody cancelled it, or what is left is for dispatchers that are removed, or the service stops.
        case cancelled
    }

    public struct Part: Sendable, Equatable {
        /// Events delivered.
        public var sent: Int
        /// Events dead, expired or evicted.
        public var failed: Int
        /// Events not settled.
        public var left: Int
        /// The barriers that hold what is left.
        public var blockedBy: [String]
    }
}

/// Why a flush does not begin.
public enum FlushRefusal: Error, Equatable, Sendable {
    case unknownDispatcher(String)
    /// A flush of this name is under way.
    case idInUse
}
