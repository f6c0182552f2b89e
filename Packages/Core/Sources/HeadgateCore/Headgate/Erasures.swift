import HeadgateData

/// Erases events for all dispatchers, and dead letters (Behaviour E1, E2), one erasure at a time.
///
/// The store is scanned while everything goes on. Then the dispatchers with pending events of the erasure finish what is
/// in flight, and the store records that the events are gone. From then on the erasure is finished even after a kill: the
/// bytes are removed from all files, a step at a time.
final class Erasures {
    private let events: EventQueue
    private let dispatchers: Dispatchers
    private let records: OutcomeRecords
    private let deadLetters: DeadLetterOperations
    private let rewinds: Rewinds
    /// Emits the progress of the erasure under way.
    let progress = PulseSubject<ErasureProgress>()
    private var waiting: [Erasure] = []
    private var current: Erasure?
    /// True while bytes of erased events are removed.
    private(set) var isRemoving = false

    /// The pause after a failure of the store, or while a dispatcher is being rewound.
    private static let pause = Duration.seconds(1)
    private static let lettersPerPage = 64

    init(
        events: EventQueue, dispatchers: Dispatchers, records: OutcomeRecords, deadLetters: DeadLetterOperations,
        rewinds: Rewinds
    ) {
        (self.events, self.dispatchers, self.records) = (events, dispatchers, records)
        (self.deadLetters, self.rewinds) = (deadLetters, rewinds)
    }

    /// An erasure that was requested.
    private final class Erasure {
        let rule: ErasureRule
        let isDryRun: Bool
        let then: (Result<ErasureAnswer, ErasureRefusal>) -> Void
        var found: [StoredEvent] = []
        /// The number of events that were erased. Some that were found may have been delivered meanwhile.
        var count = 0
        var letters: [StoredDeadLetter] = []
        /// The dispatchers that are held until the store has recorded the erasure.
        var held: [Dispatcher] = []
        /// Lets other operations on dead letters go on.
        var release: () -> Void = {}

        init(_ rule: ErasureRule, _ isDryRun: Bool, _ then: @escaping (Result<ErasureAnswer, ErasureRefusal>) -> Void) {
            (self.rule, self.isDryRun, self.then) = (rule, isDryRun, then)
        }

        var answer: ErasureAnswer { ErasureAnswer(events: isDryRun ? found.count : count, deadLetters: letters.count) }
    }

    /// Erases the events for which a rule is true, or only counts them. `then` is called later.
    func erase(
        _ rule: ResolvedRule, isDryRun: Bool, then: @escaping (Result<ErasureAnswer, ErasureRefusal>) -> Void
    ) {
        waiting.append(Erasure(ErasureRule(rule), isDryRun, then))
        beginNext()
    }

    private func beginNext() {
        guard current == nil, !isRemoving, !waiting.isEmpty else { return }
        let erasure = waiting.removeFirst()
        current = erasure
        // Dead letters are not requeued meanwhile: their events would be new ones.
        deadLetters.inTurn { [self] done in
            erasure.release = done
            // Accepted events that are being stored are part of the queue.
            events.whenCommitted { [weak self] _ in
                guard let self else { return }
                scan(ErasureScan(erasure.rule, through: events.lastStored), erasure)
            }
        }
    }

    // MARK: Finding

    private func scan(_ scan: ErasureScan, _ erasure: Erasure) {
        progress.send(.scanning(through: scan.position, of: scan.through))
        guard !scan.isTooMuch else { return end(erasure, .failure(.tooMany(ErasureScan.most))) }
        guard !scan.isOver else {
            erasure.found = scan.found
            return hold(erasure)
        }
        events.store.scan(scan) { [weak self] result in
            switch result {
            case .success(let scan): self?.scan(scan, erasure)
            case .failure: self?.end(erasure, .failure(.store))
            }
        }
    }

    /// Lets the dispatchers with pending events of the erasure finish what is in flight, unless the erasure changes
    /// nothing.
    private func hold(_ erasure: Erasure) {
        guard !erasure.isDryRun else { return readDeadLetters(after: 0, erasure) }
        guard let next = dispatchers.all.first(where: { isConcerned($0, by: erasure) }) else {
            return readDeadLetters(after: 0, erasure)
        }
        // A dispatcher that is being removed is an orphan soon.
        guard !next.isRewinding, dispatchers[next.id] === next else {
            return later { [self] in hold(erasure) }
        }
        next.beginRewind { [weak self] isQuiet in
            if isQuiet { erasure.held.append(next) }
            self?.hold(erasure)
        }
    }

    private func isConcerned(_ dispatcher: Dispatcher, by erasure: Erasure) -> Bool {
        !erasure.held.contains { $0 === dispatcher } && !pending(erasure, of: dispatcher).isEmpty
    }

    /// Returns the events that a dispatcher has not settled.
    private func pending(_ erasure: Erasure, of dispatcher: Dispatcher) -> [StoredEvent] {
        let queue = dispatcher.queue
        return erasure.found.filter { event in
            guard events.isRoute(event.route, to: queue.number) else { return false }
            if !queue.entries(of: [event.sequenceNumber]).isEmpty { return true }
            return queue.isUnread(event.sequenceNumber)
                && !(queue.isSwept(event.sequenceNumber) && events.hasPassed(event))
        }
    }

    private func readDeadLetters(after: DeadLetterNumber, _ erasure: Erasure) {
        _ = deadLetters.read(after: after, limit: Erasures.lettersPerPage) { [weak self] result in
            guard let self else { return }
            guard case .success(let page) = result else { return end(erasure, .failure(.store)) }
            erasure.letters += page.letters.filter { $0.letter.event.map(erasure.rule.means) ?? false }
            if let next = page.next { return readDeadLetters(after: next, erasure) }
            if erasure.isDryRun { end(erasure, .success(erasure.answer)) } else { record(erasure) }
        }
    }

    // MARK: Erasing

    private func record(_ erasure: Erasure) {
        let numbers = erasure.found.map(\.sequenceNumber)
        events.store.erase(numbers, erasure.letters.map(\.number)) { [weak self] result in
            guard let self else { return }
            guard case .success = result else { return end(erasure, .failure(.store)) }
            settle(erasure)
            removeBytes(erasure)
        }
    }

    /// Counts the erased events, and lets the dispatchers go on without them.
    private func settle(_ erasure: Erasure) {
        var settled = Set<SequenceNumber>()
        for dispatcher in erasure.held where dispatchers.there(dispatcher.id) === dispatcher {
            let pending = pending(erasure, of: dispatcher)
            settled.formUnion(pending.map(\.sequenceNumber))
            dispatcher.erased(pending)
        }
        for orphan in dispatchers.orphansWithEvents {
            let pending = pending(erasure, of: orphan)
            settled.formUnion(pending.map(\.sequenceNumber))
            for event in pending { events.backlog.settle(event.tally, route: event.route, dispatcher: orphan.number) }
            records.counts.count(.erased, pending.count)
        }
        erasure.count = events.limits.retain == nil ? settled.count : erasure.found.count
        // Retained events count once, and so do dead letters.
        records.counts.count(.erased, erasure.count - settled.count + erasure.letters.count)
        events.forgetRecent()
        records.trace.forget(Set(erasure.found.map(\.sequenceNumber)))
        letGo(erasure)
    }

    private func pending(_ erasure: Erasure, of orphan: StoredDispatcher) -> [StoredEvent] {
        erasure.found.filter { event in
            events.isRoute(event.route, to: orphan.number) && !orphan.settled.contains(event.sequenceNumber)
                && !events.hasPassed(event)
        }
    }

    private func removeBytes(_ erasure: Erasure?) {
        isRemoving = true
        progress.send(.removing)
        events.store.removeErasedBytes { [weak self] result in
            guard let self else { return }
            switch result {
            case .success(false): removeBytes(erasure)
            case .success(true):
                isRemoving = false
                if let erasure { end(erasure, .success(erasure.answer)) } else { beginNext() }
            case .failure: later { [self] in removeBytes(erasure) }
            }
        }
    }

    /// Finishes an erasure that an earlier process has recorded (Behaviour E2).
    func finishEarlier() { removeBytes(nil) }

    // MARK: The end

    private func letGo(_ erasure: Erasure) {
        for dispatcher in erasure.held {
            dispatcher.endRewind()
            rewinds.beginNext(dispatcher.id)
        }
        erasure.held = []
        erasure.release()
        erasure.release = {}
    }

    private func end(_ erasure: Erasure, _ result: Result<ErasureAnswer, ErasureRefusal>) {
        letGo(erasure)
        current = nil
        progress.send(.ended)
        erasure.then(result)
        beginNext()
    }

    private func later(_ work: @escaping () -> Void) {
        _ = events.scheduler.schedule(at: events.scheduler.now + Erasures.pause, work)
    }
}

/// The result of an erasure (Behaviour E1).
public struct ErasureAnswer: Sendable, Equatable {
    /// The number of stored events that were erased, or that would be.
    public var events: Int
    /// The number of dead letters that were erased, or that would be.
    public var deadLetters: Int
}

/// The reason why events were not erased.
public enum ErasureRefusal: Error, Equatable, Sendable {
    /// The event store cannot erase.
    case unsupported(store: String)
    /// The rule has a fault.
    case rule(String)
    /// More events are meant than one erasure may erase.
    case tooMany(Int)
    /// The store failed. Nothing is erased.
    case store
}

/// The progress of an erasure.
public enum ErasureProgress: Sendable, Equatable {
    /// The store is scanned up to an event.
    case scanning(through: SequenceNumber, of: SequenceNumber)
    /// The events are gone, and their bytes are being removed.
    case removing
    /// No erasure is under way.
    case ended
}
