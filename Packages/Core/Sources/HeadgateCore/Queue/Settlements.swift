/// The settlements of dispatchers that have to be written to the store: many in one write, and one write at a time.
/// After a failure they are written later; delivery continues meanwhile (Behaviour Q8).
final class Settlements {
    private let scheduler: any Scheduler
    private let store: any EventStore
    private var settled: [DispatcherNumber: () -> Settled?] = [:]
    private var said = Said()
    private var changes = PendingChanges()
    private var waiters: [StoreWaiter] = []
    /// The changes that are being written; nil if no write is running.
    private var written: [StoreChange]? {
        didSet { writtenDeadLetters = written?.deadLetterTally ?? .zero }
    }
    private var writtenDeadLetters = Tally.zero
    /// Called after each write that succeeded.
    var afterWrite: () -> Void = {}
    private var isClosed = false
    private var isDue = false

    /// The settlements that are written or being written.
    private struct Said {
        /// The partial settlements written for dispatchers that have more to write after other changes.
        var settled: [DispatcherNumber: Settled] = [:]
        var trim: SequenceNumber = 0
    }

    /// The gate, which knows the events and routes that no dispatcher needs.
    weak var host: (any GateHost)?
    /// The subject that emits the fault of each failed write.
    let faults = PulseSubject<StoreFault>()

    private static let pauseAfterFault = Duration.seconds(1)

    init(scheduler: any Scheduler, store: any EventStore) {
        self.scheduler = scheduler
        self.store = store
    }

    /// Schedules the write of a dispatcher's settlements.
    /// - Parameter all: returns all settlements at the time of the write; nil if the dispatcher is gone and nothing is
    ///   to be written.
    func settled(_ dispatcher: DispatcherNumber, _ all: @escaping () -> Settled?) {
        settled[dispatcher] = all
        writeSoon()
    }

    /// Schedules another change. It is written in order with the settlements.
    func add(_ change: StoreChange) {
        // A dispatcher that is added again with this number starts after all events settled so far.
        if let dispatcher = change.forgottenDispatcher { settled[dispatcher] = nil }
        changes.add(change)
        writeSoon()
    }

    /// Calls `work` with nil once all changes so far are written, or with a fault if a write failed.
    func whenWritten(_ work: @escaping (StoreFault?) -> Void) {
        waiters.append(StoreWaiter(notify: work))
        writeSoon()
    }

    /// Records that the store has rewound a dispatcher: events after a position are needed again, and are trimmed again
    /// later. Settlements from before the rewind no longer apply.
    func rewound(_ dispatcher: DispatcherNumber, to position: SequenceNumber) {
        (settled[dispatcher], said.settled[dispatcher]) = (nil, nil)
        said.trim = min(said.trim, position)
    }

    /// The number of dead letters that may not be written yet, and the size of their events.
    var unwrittenDeadLetters: Tally { changes.deadLetterTally + writtenDeadLetters }

    /// The dispatchers whose deletion is not written yet.
    var unwrittenForgets: Set<DispatcherNumber> {
        Set((written ?? []).compactMap(\.forgottenDispatcher) + changes.forgets)
    }

    /// Schedules a check for events to trim and routes to forget at the end of the turn.
    func evaluateSoon() {
        writeSoon()
    }

    /// Stops writing, because the store is about to be closed. Later waiters get a fault.
    func close() {
        isClosed = true
        forget()
        writeSoon()
    }

    private func writeSoon() {
        guard !isDue, written == nil else { return }
        isDue = true
        scheduler.atEndOfTurn(.commit) { [weak self] in
            self?.isDue = false
            self?.write()
        }
    }

    private func write() {
        guard written == nil else { return }
        guard !isClosed else { return refuse() }
        let before = said
        let taken = takeShare()
        // Waiters are notified after this write. Those for all changes are notified when all are written, or when a write fails.
        let (first, waiting) = changes.isEmpty ? (waiters, []) : ([], waiters)
        waiters = []
        guard !taken.isEmpty else { return first.notify(nil) }
        written = taken
        store.write(taken) { [weak self] fault in
            guard let self else { return }
            self.waiters = (fault == nil ? waiting : []) + self.waiters
            first.notify(fault)
            if let fault {
                waiting.notify(fault)
                self.faults.send(fault)
            }
            self.written = nil
            if let fault {
                self.said = before
                return self.putBack(taken, fault)
            }
            self.changes.written()
            self.afterWrite()
            if !self.isIdle { self.writeSoon() }
        }
    }

    private func refuse() {
        let refused = waiters
        waiters = []
        forget()
        refused.notify(.failed("the event store is closed"))
    }

    private func forget() {
        changes.removeAll()
        (settled, said) = ([:], Said())
    }

    /// True if dead letters are not yet being written, because the disk is full or the store fails.
    var hasDeadLetters: Bool { changes.hasDeadLetters }

    /// True if there is nothing to write and no waiter.
    var isIdle: Bool { written == nil && settled.isEmpty && changes.isEmpty && waiters.isEmpty }

    /// Returns the changes of the next write. If the present share of the waiting changes is empty, it moves on to the
    /// next share.
    private func takeShare() -> [StoreChange] {
        let taken = takeChanges()
        guard taken.isEmpty, !changes.isEmpty else { return taken }
        changes.proceed()
        return takeChanges()
    }

    private func takeChanges() -> [StoreChange] {
        var all = changes.take() + takeSettled()
        let trim = changes.writable(host?.trimPoint() ?? 0)
        if trim > said.trim {
            all.append(.trim(through: trim))
            said.trim = trim
        }
        // The settlements that made the routes unused are written before or in the same write.
        let routes = changes.isEmpty ? host?.forgetUnusedRoutes() ?? [] : []
        if !routes.isEmpty { all.append(.forgetRoutes(routes)) }
        return all
    }

    /// Returns the settlements that may be written before the waiting changes.
    private func takeSettled() -> [StoreChange] {
        let dispatchers = settled.sorted { $0.key < $1.key }
        guard !changes.isEmpty else {
            (settled, said.settled) = ([:], [:])
            return dispatchers.compactMap { number, all in all().map { .settled(number, $0) } }
        }
        return dispatchers.compactMap { number, all in
            guard let part = all().flatMap({ changes.writable($0, of: number) }), part != said.settled[number] else {
                return nil
            }
            said.settled[number] = part
            return .settled(number, part)
        }
    }

    private func putBack(_ written: [StoreChange], _ fault: StoreFault) {
        let forgotten = Set(changes.forgets)
        for change in written {
            guard case .settled(let dispatcher, let all) = change else { continue }
            // Settlements only grow: later ones contain these.
            if settled[dispatcher] == nil, !forgotten.contains(dispatcher) { settled[dispatcher] = { all } }
        }
        changes.putBack(written, fault)
        guard !isClosed else { return refuse() }
        isDue = true
        _ = scheduler.schedule(at: scheduler.now + Settlements.pauseAfterFault) { [weak self] in
            self?.isDue = false
            self?.write()
        }
    }
}
