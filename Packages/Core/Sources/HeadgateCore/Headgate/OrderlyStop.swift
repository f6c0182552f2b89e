/// A running orderly stop. It executes the orders of ``StopMachine``, and reports the state of the gate to it after
/// each turn with changes.
final class OrderlyStop {
    private unowned let gate: Headgate
    private var machine: StopMachine
    private var firstOrders: [StopMachine.Order]
    private let end: Instant
    private var waiting: [(StopOutcome) -> Void] = []
    private var flush = FlushState.none
    private var timer: (any Disposable)?

    /// The state of the stop's flush. It has a name that no client's flush has.
    private enum FlushState {
        /// No flush is running. Next: `storing`.
        case none
        /// The flush is running. Some events that were accepted before the stop may not be stored yet. Next: `sending`,
        /// or `none` at its end.
        case storing(String)
        /// The flush is running. All events that were accepted before the stop are stored or refused. Next: `none`.
        case sending(String)
    }

    init(gate: Headgate, within timeout: Duration, flushing: Bool) {
        self.gate = gate
        end = gate.scheduler.now + timeout
        (machine, firstOrders) = StopMachine.begin(at: gate.scheduler.now, within: timeout, flushing: flushing)
    }

    func whenEnded(_ then: @escaping (StopOutcome) -> Void) {
        if let outcome = machine.outcome { then(outcome) } else { waiting.append(then) }
    }

    func begin() {
        perform(firstOrders)
    }

    /// True if nothing is sent any more, and the store is being closed or is closed.
    var isClosing: Bool { machine.isClosing }

    /// Checks whether the next step is due.
    func check() {
        perform(machine.checked(isStuck: isStuck, inFlight: batchesInFlight))
    }

    // MARK: Status

    /// True if the flush can only wait: barriers that a flush does not ignore hold all remaining events.
    private var isStuck: Bool {
        guard case .sending = flush else { return false }
        return gate.dispatchers.present.allSatisfy { dispatcher in
            dispatcher.batchesInFlight == 0
                && (dispatcher.unsettled.events == 0
                    || !gate.coordinator.barriers(before: dispatcher.id).isOpen(flushing: true))
        }
    }

    /// The number of batches in flight, with those of removed dispatchers.
    private var batchesInFlight: Int {
        gate.dispatchers.all.reduce(0) { $0 + $1.batchesInFlight }
    }

    // MARK: Orders

    private func perform(_ orders: [StopMachine.Order]) {
        for order in orders { perform(order) }
        timer?.dispose()
        timer = machine.nextDeadline.map { due in
            gate.scheduler.schedule(at: due) { [weak self] in self?.timePassed() }
        }
    }

    private func timePassed() {
        perform(machine.timePassed(to: gate.scheduler.now, inFlight: batchesInFlight))
    }

    private func perform(_ order: StopMachine.Order) {
        switch order {
        case .flush: beginFlush()
        case .endFlush: endFlush()
        case .takeNoMore: takeNoMore()
        case .interrupt:
            for dispatcher in gate.dispatchers.all where dispatcher.batchesInFlight > 0 { dispatcher.interrupt() }
        case .closeStore: closeStore()
        case .end(let outcome): report(outcome)
        }
    }

    private func beginFlush() {
        let start = gate.flush(timeout: end - gate.scheduler.now) { [weak self] _ in self?.flushEnded() }
        guard case .success(let name) = start else { return flushEnded() }
        flush = .storing(name)
        gate.events.whenCommitted { [weak self] _ in
            if case .storing(let name)? = self?.flush { self?.flush = .sending(name) }
            self?.check()
        }
    }

    private func endFlush() {
        switch flush {
        case .none: break
        case .storing(let name), .sending(let name): _ = gate.flushes.cancel(name)
        }
    }

    private func flushEnded() {
        flush = .none
        perform(machine.flushEnded())
    }

    private func takeNoMore() {
        gate.dispatchers.stop()
        gate.dispatchers.evaluateAll()
        // Without a dispatcher there would be no evaluation at the end of the turn.
        if gate.dispatchers.all.isEmpty { gate.scheduler.atEndOfTurn(.dispatch) { [weak self] in self?.check() } }
    }

    private func closeStore() {
        for dispatcher in gate.dispatchers.present { dispatcher.closeSender() }
        // No more events are settled: waiters of flushes get the number of remaining events (Behaviour D11).
        gate.flushes.cancelAll()
        gate.events.whenCommitted { [gate] _ in
            gate.clock.keep()
            gate.settlements.whenWritten { _ in
                gate.settlements.close()
                gate.events.store.close { [weak self] in
                    guard let self else { return }
                    self.perform(self.machine.storeClosed())
                }
            }
        }
    }

    private func report(_ outcome: StopOutcome) {
        // A flush may have been started while the store was closing.
        gate.flushes.cancelAll()
        // A store that was abandoned answers no operation.
        gate.tasks.end()
        let waiters = waiting
        waiting = []
        for then in waiters { then(outcome) }
    }
}
