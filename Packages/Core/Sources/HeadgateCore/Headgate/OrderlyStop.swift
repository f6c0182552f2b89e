extension Headgate {
    /// Stops in an orderly way (Behaviour D11, F5): what may go now goes, what is in flight is finished, within a time;
    /// the rest stays stored. Waits are not waited for. A stop that is under way goes on as it began.
    /// - Parameters:
    ///   - flushing: whether the stop begins with a flush.
    ///   - then: called once the store is closed; at once if it is already.
    public func stop(within timeout: Duration, flushing: Bool, then: @escaping () -> Void) {
        if let stopping { return stopping.whenEnded(then) }
        let stop = OrderlyStop(gate: self)
        stopping = stop
        stop.whenEnded(then)
        stop.begin(within: timeout, flushing: flushing)
    }
}

/// The steps of an orderly stop. After each turn in which something happened it looks whether the next step is due.
final class OrderlyStop {
    private enum Step {
        /// What may go, goes.
        case flushing
        /// No more batches; those on their way are finished.
        case finishing
        /// The store writes down the rest.
        case closing
        case ended
    }

    private static let flushName = "headgate:shutdown"

    private unowned let gate: Headgate
    private var waiting: [() -> Void] = []
    private var step = Step.flushing
    /// Whether all that was offered before the stop is stored, or refused.
    private var isAllStored = false
    private var alarm: (any Disposable)?

    init(gate: Headgate) {
        self.gate = gate
    }

    func whenEnded(_ then: @escaping () -> Void) {
        if step == .ended { then() } else { waiting.append(then) }
    }

    func begin(within timeout: Duration, flushing: Bool) {
        alarm = gate.worker.schedule(at: gate.worker.now + timeout) { [weak self] in self?.outOfTime() }
        guard flushing else { return finish() }
        _ = gate.flush(id: OrderlyStop.flushName, timeout: timeout) { [weak self] _ in self?.finish() }
        gate.events.whenCommitted { [weak self] _ in
            self?.isAllStored = true
            self?.look()
        }
    }

    /// Whether nothing is sent any more, and the store is about to be closed or is.
    var isClosing: Bool { step == .closing || step == .ended }

    /// Looks whether the next step is due.
    func look() {
        switch step {
        case .flushing where isStuck: _ = gate.cancelFlush(OrderlyStop.flushName)
        case .finishing where !isAnythingInFlight: close()
        default: break
        }
    }

    /// Whether the flush could only wait: all that is left is held by barriers that a flush does not open.
    private var isStuck: Bool {
        isAllStored && gate.flushes.isUnderWay(OrderlyStop.flushName)
            && gate.dispatchers.values.allSatisfy { dispatcher in
                dispatcher.batchesInFlight == 0
                    && (dispatcher.unsettled.events == 0
                        || !gate.coordinator.way(to: dispatcher.id).isOpen(flushing: true))
            }
    }

    private var isAnythingInFlight: Bool {
        // Those that were removed finish what they have on its way as well.
        gate.everyDispatcher.contains { $0.batchesInFlight > 0 }
    }

    private func finish() {
        guard step == .flushing else { return }
        step = .finishing
        for dispatcher in gate.dispatchers.values { dispatcher.isStopping = true }
        gate.dispatcherIds.forEach(gate.markDirty)
        if gate.everyDispatcher.isEmpty { close() }
    }

    private func outOfTime() {
        finish()
        for dispatcher in gate.everyDispatcher where dispatcher.batchesInFlight > 0 { dispatcher.interrupt() }
    }

    private func close() {
        step = .closing
        alarm?.dispose()
        for dispatcher in gate.dispatchers.values { dispatcher.sender.close() }
        gate.events.whenCommitted { [gate] _ in
            gate.keepClock(isDue: true)
            gate.settlements.whenWritten { _ in
                gate.settlements.close()
                gate.events.store.close { self.end() }
            }
        }
    }

    private func end() {
        step = .ended
        for then in waiting { then() }
        waiting = []
    }
}
