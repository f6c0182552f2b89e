/// Writes down what dispatchers have settled, many settlements in one write, one write at a time. What cannot be
/// written now is written later: delivery goes on meanwhile (Behaviour Q8).
final class Settlements {
    private let scheduler: any Scheduler
    private let store: any EventStore
    private var settled: [DispatcherNumber: () -> Settled?] = [:]
    private var said = Said()
    private var changes = WaitingChanges()
    private var waiters: [StoreWaiter] = []
    /// What is being written.
    private var written: [StoreChange]? {
        didSet { writtenLetters = written?.letterTally ?? .zero }
    }
    private var writtenLetters = Tally.zero
    /// Called after each write that succeeded.
    var afterWrite: () -> Void = {}
    private var isClosed = false
    private var isDue = false

    /// What is written by now, or on its way.
    private struct Said {
        /// Of those who have more to say once other changes are written.
        var settled: [DispatcherNumber: Settled] = [:]
        var trim: SequenceNumber = 0
    }

    /// Knows what nobody needs any more.
    weak var host: (any GateHost)?
    /// Why something could not be written down.
    let faults = PulseSubject<StoreFault>()

    private static let pauseAfterFault = Duration.seconds(1)

    init(scheduler: any Scheduler, store: any EventStore) {
        self.scheduler = scheduler
        self.store = store
    }

    /// A dispatcher has settled more by now.
    /// - Parameter all: tells how much when it is written; nil when the dispatcher is gone, with nothing to be told.
    func settled(_ dispatcher: DispatcherNumber, _ all: @escaping () -> Settled?) {
        settled[dispatcher] = all
        writeSoon()
    }

    /// Any other change, written in order with the rest.
    func add(_ change: StoreChange) {
        // What comes back under the same number begins behind all that it had settled.
        if let dispatcher = change.forgottenDispatcher { settled[dispatcher] = nil }
        changes.add(change)
        writeSoon()
    }

    /// Calls `work` once all so far is written, with nil, or could not be written yet.
    func whenWritten(_ work: @escaping (StoreFault?) -> Void) {
        waiters.append(StoreWaiter(tell: work))
        writeSoon()
    }

    /// The dead letters that are not known to be written, and the bytes of their events.
    var unwrittenLetters: Tally { changes.letterTally + writtenLetters }

    /// The dispatchers of which it is not written yet that they are given up.
    var unwrittenForgets: Set<DispatcherNumber> {
        Set((written ?? []).compactMap(\.forgottenDispatcher) + changes.forgets)
    }

    /// Has a look at the end of the turn whether there is something to give up.
    func lookSoon() {
        writeSoon()
    }

    /// Nothing more is written: the store is about to be closed. Who waits from now on is told so.
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
        // Who waits for all is told when all is written, or something could not be.
        let (told, waiting) = changes.isEmpty ? (waiters, []) : ([], waiters)
        waiters = []
        guard !taken.isEmpty else { return told.tell(nil) }
        written = taken
        store.write(taken) { [weak self] fault in
            guard let self else { return }
            self.waiters = (fault == nil ? waiting : []) + self.waiters
            told.tell(fault)
            if let fault {
                waiting.tell(fault)
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
        let told = waiters
        waiters = []
        forget()
        told.tell(.failed("the event store is closed"))
    }

    private func forget() {
        changes.removeAll()
        (settled, said) = ([:], Said())
    }

    /// Whether dead letters wait for room, or for a store that fails.
    var hasLetters: Bool { changes.hasLetters }

    /// Whether all is written that is to be.
    var isIdle: Bool { written == nil && settled.isEmpty && changes.isEmpty && waiters.isEmpty }

    /// What is written next. Where that is nothing although something waits, it is some of that.
    private func takeShare() -> [StoreChange] {
        let taken = takeChanges()
        guard taken.isEmpty, !changes.isEmpty else { return taken }
        changes.goOn()
        return takeChanges()
    }

    private func takeChanges() -> [StoreChange] {
        var all = changes.take() + takeSettled()
        let trim = changes.sayable(host?.trimPoint() ?? 0)
        if trim > said.trim {
            all.append(.trim(through: trim))
            said.trim = trim
        }
        // What made that so is written before, or together with it.
        let routes = changes.isEmpty ? host?.forgetUnusedRoutes() ?? [] : []
        if !routes.isEmpty { all.append(.forgetRoutes(routes)) }
        return all
    }

    /// What dispatchers have settled, as far as it may be said before what waits.
    private func takeSettled() -> [StoreChange] {
        let dispatchers = settled.sorted { $0.key < $1.key }
        guard !changes.isEmpty else {
            (settled, said.settled) = ([:], [:])
            return dispatchers.compactMap { number, all in all().map { .settled(number, $0) } }
        }
        return dispatchers.compactMap { number, all in
            guard let part = all().flatMap({ changes.sayable($0, of: number) }), part != said.settled[number] else {
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
            // What is settled only grows: whatever came meanwhile holds this as well.
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
