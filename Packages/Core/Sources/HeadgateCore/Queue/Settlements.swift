/// Writes down what dispatchers have settled, many settlements in one write, one write at a time. What cannot be
/// written now is written later: delivery goes on meanwhile (Behaviour Q8).
final class Settlements {
    private let scheduler: any Scheduler
    private let store: any EventStore
    private var settled: [DispatcherNumber: () -> Settled?] = [:]
    private var changes: [StoreChange] = []
    private var waiters: [StoreWaiter] = []
    /// What is being written.
    private var written: [StoreChange]?
    private var isClosed = false
    private var isDue = false
    private var lastTrim: SequenceNumber = 0
    /// Knows what nobody needs any more.
    weak var host: (any GateHost)?
    /// Why something could not be written down.
    let faults = PulseSubject<StoreFault>()

    /// Dead letters that wait for a store that fails are bounded as those in the store are; the oldest go.
    private static let mostLetters = 10_000
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
        changes.append(change)
        writeSoon()
    }

    /// Calls `work` once all so far is written, with nil, or could not be written yet.
    func whenWritten(_ work: @escaping (StoreFault?) -> Void) {
        waiters.append(StoreWaiter(tell: work))
        writeSoon()
    }

    /// The dispatchers of which it is not written yet that they are given up.
    var unwrittenForgets: Set<DispatcherNumber> {
        Set(((written ?? []) + changes).compactMap(\.forgottenDispatcher))
    }

    /// Has a look at the end of the turn whether there is something to give up.
    func lookSoon() {
        writeSoon()
    }

    /// Nothing more is written: the store is about to be closed. Who waits from now on is told so.
    func close() {
        isClosed = true
        (changes, settled) = ([], [:])
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
        let (taken, told) = (takeChanges(), waiters)
        waiters = []
        guard !taken.isEmpty else { return told.tell(nil) }
        written = taken
        store.write(taken) { [weak self] fault in
            guard let self else { return }
            told.tell(fault)
            if let fault { self.faults.send(fault) }
            self.written = nil
            guard fault == nil else { return self.putBack(taken) }
            if !self.isIdle { self.writeSoon() }
        }
    }

    private func refuse() {
        let told = waiters
        (changes, settled, waiters) = ([], [:], [])
        told.tell(.failed("the event store is closed"))
    }

    private var isIdle: Bool { settled.isEmpty && changes.isEmpty && waiters.isEmpty }

    private func takeChanges() -> [StoreChange] {
        var all = changes + settled.compactMap { number, all in all().map { .settled(number, $0) } }
        changes = []
        settled = [:]
        let trim = host?.trimPoint() ?? 0
        if trim > lastTrim {
            all.append(.trim(through: trim))
            lastTrim = trim
        }
        let routes = host?.forgetUnusedRoutes() ?? []
        if !routes.isEmpty { all.append(.forgetRoutes(routes)) }
        return all
    }

    private func putBack(_ written: [StoreChange]) {
        let forgotten = Set(changes.compactMap(\.forgottenDispatcher))
        for change in written {
            // What is settled only grows: whatever came meanwhile holds this as well.
            guard case .settled(let dispatcher, let all) = change, settled[dispatcher] == nil,
                !forgotten.contains(dispatcher)
            else { continue }
            settled[dispatcher] = { all }
        }
        changes = Settlements.condensed(written + changes)
        guard !isClosed else { return refuse() }
        isDue = true
        _ = scheduler.schedule(at: scheduler.now + Settlements.pauseAfterFault) { [weak self] in
            self?.isDue = false
            self?.write()
        }
    }

    /// What has to be kept of changes that wait for a store that fails, so that they do not grow without end: of those
    /// that supersede each other the last, and no more dead letters than the newest.
    private static func condensed(_ changes: [StoreChange]) -> [StoreChange] {
        let subjects = changes.indices.compactMap { index in changes[index].subject.map { ($0, index) } }
        let last = Dictionary(subjects) { $1 }
        var spareLetters = changes.count { $0.isDeadLetter } - mostLetters
        return changes.indices.compactMap { index in
            let change = changes[index]
            if change.isSettled { return nil }
            if let subject = change.subject, last[subject] != index { return nil }
            // Nothing that was said of a dispatcher before it was given up holds any more.
            if case .dispatcher(let known) = change, let end = last[.forgottenDispatcher(known.number)], end > index {
                return nil
            }
            guard change.isDeadLetter, spareLetters > 0 else { return change }
            spareLetters -= 1
            return nil
        }
    }
}

/// What a change is about, where a later one of the same supersedes it.
private enum ChangeSubject: Hashable {
    case dispatcher(DispatcherNumber)
    case forgottenDispatcher(DispatcherNumber)
    case trim
    case forgottenIDs
    case kept(String)
}

extension StoreChange {
    /// Nil where nothing supersedes it.
    fileprivate var subject: ChangeSubject? {
        switch self {
        case .dispatcher(let dispatcher): .dispatcher(dispatcher.number)
        case .forgetDispatcher(let number): .forgottenDispatcher(number)
        case .trim: .trim
        case .forgetIDs: .forgottenIDs
        case .keep(let name, _): .kept(name)
        case .settled, .deadLetter, .forgetRoutes: nil
        }
    }

    fileprivate var isSettled: Bool { if case .settled = self { true } else { false } }
    fileprivate var forgottenDispatcher: DispatcherNumber? {
        if case .forgetDispatcher(let number) = self { number } else { nil }
    }
    fileprivate var isDeadLetter: Bool { if case .deadLetter = self { true } else { false } }
}
