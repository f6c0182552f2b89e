import HeadgateData

/// The running flushes. The type starts and ends them, and notifies their waiters.
public final class Flushes {
    private let scheduler: any Scheduler
    private let coordinator: BarrierCoordinator
    /// The record that gets each dispatcher whose flushes start or end.
    private let turn: PendingEvaluations
    private var lastNumber = 0
    /// The running flushes. Exempt from run-time exclusivity checks: each evaluation of a dispatcher reads the table,
    /// and the table calls nothing.
    @exclusivity(unchecked) private(set) var table = FlushTable()
    private var waiters = NameTable<(FlushAnswer) -> Void>()
    private var timer: (any Disposable)?

    init(scheduler: any Scheduler, coordinator: BarrierCoordinator, turn: PendingEvaluations) {
        self.scheduler = scheduler
        self.coordinator = coordinator
        self.turn = turn
    }

    /// Returns a name that no running flush has. Clients may choose any names.
    func unusedName() -> String {
        repeat { lastNumber += 1 } while isInProgress("flush-\(lastNumber)")
        return "flush-\(lastNumber)"
    }

    /// Starts a flush. `then` is called when it ends, after the function has returned, even if there is nothing to wait
    /// for.
    func start(
        _ id: String, parts: [String: FlushTable.Part], timeout: Duration?, then: @escaping (FlushAnswer) -> Void
    ) {
        waiters[id] = then
        table.start(
            FlushTable.Flush(
                id: id, parts: parts, since: scheduler.wall, timeout: timeout,
                deadline: timeout.map { scheduler.now + $0 }))
        for dispatcher in parts.keys { turn.stateChanged(dispatcher) }
        // All input of this turn has been processed by then.
        scheduler.atEndOfTurn(.facts) { [weak self] in self?.timePassed() }
    }

    /// Limits the remaining events at a dispatcher, after events that the flush covers could not be stored.
    func limit(_ id: String, _ dispatcher: String, to left: Int) {
        change(dispatcher) { $0.limit(id, dispatcher, to: left) }
    }

    func isInProgress(_ id: String) -> Bool { waiters[id] != nil }

    /// Returns the last event of a dispatcher that a flush covers, or nil if it is not being flushed. Flushable
    /// barriers are ignored up to that event.
    func target(for dispatcher: String) -> SequenceNumber? {
        table.target(for: dispatcher)
    }

    /// The running flushes, in the order of their starts.
    public var running: [FlushSummary] {
        table.flushes.map {
            FlushSummary(id: $0.id, dispatchers: $0.parts.keys.sorted(), since: $0.since, timeout: $0.timeout)
        }
    }

    /// Cancels a flush (Behaviour F4). Returns false if there is none with this id.
    public func cancel(_ id: String) -> Bool {
        guard let flush = table.take(id) else { return false }
        end(flush, .cancelled)
        return true
    }

    /// Cancels all flushes, because the service is about to stop.
    func cancelAll() {
        for flush in table.flushes { _ = cancel(flush.id) }
    }

    /// Records settled events of a dispatcher. All events up to `position` are settled as well.
    /// - Parameter replayed: further settled events, which a rewind had made pending again.
    func settled(
        _ sequenceNumbers: some Collection<SequenceNumber>, replayed: [SequenceNumber] = [], of dispatcher: String,
        sent: Bool, position: SequenceNumber
    ) {
        change(dispatcher) {
            $0.settled(sequenceNumbers, replayed: replayed, of: dispatcher, sent: sent, position: position)
        }
    }

    /// Records events of a dispatcher that transformations dropped. All events up to `position` are settled as well.
    func dropped(
        _ sequenceNumbers: some Collection<SequenceNumber>, replayed: [SequenceNumber] = [], of dispatcher: String,
        position: SequenceNumber
    ) {
        change(dispatcher) {
            $0.dropped(sequenceNumbers, replayed: replayed, of: dispatcher, position: position)
        }
    }

    /// Records that a dispatcher was rewound. Running flushes do not cover what is pending again.
    func rewound(_ dispatcher: String) {
        table.rewound(dispatcher)
    }

    /// Changes the flushes of a dispatcher. If they cover less than before, the dispatcher may have become blocked,
    /// even if the flushes continue at other dispatchers.
    private func change(_ dispatcher: String, _ change: (inout FlushTable) -> Void) {
        guard let before = target(for: dispatcher) else { return }
        change(&table)
        if target(for: dispatcher) != before { turn.stateChanged(dispatcher) }
        endThoseOver(at: nil)
    }

    func removeDispatcher(_ dispatcher: String) {
        table.remove(dispatcher)
        endThoseOver(at: nil)
    }

    /// Ends the flushes that are over, and schedules the next deadline.
    /// - Parameter now: the present time; nil to ignore deadlines.
    private func endThoseOver(at now: Instant?) {
        for flush in table.takeOver(at: now) { end(flush, flush.end) }
        timer?.dispose()
        timer = table.nextDeadline.map { scheduler.schedule(at: $0) { [weak self] in self?.timePassed() } }
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
        for dispatcher in flush.parts.keys { turn.stateChanged(dispatcher) }
        waiter?(FlushAnswer(ended: end, dispatchers: Dictionary(uniqueKeysWithValues: parts)))
    }
}

/// The reason why a flush was not started.
public enum FlushRefusal: Error, Equatable, Sendable {
    case unknownDispatcher(String)
    /// A running flush has this name.
    case idInUse
}

/// A running flush, for people.
public struct FlushSummary: Sendable, Equatable {
    public var id: String
    /// The flushed dispatchers in alphabetical order.
    public var dispatchers: [String]
    public var since: Timestamp
    /// The time after which the flush ends in any case; nil for no timeout.
    public var timeout: Duration?
}
