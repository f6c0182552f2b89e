import HeadgateData

/// A store in memory, for tests and for `durability: memory` (Behaviour Q1, Q5). Its events are lost with the process.
public final class MemoryEventStore: EventStore {
    public let kind = "memory"

    private let scheduler: any Scheduler
    private var chunks: [Chunk] = []
    /// The ages of each chunk's events.
    private var ages: [GroupAges] = []
    private var state = StoredState()
    /// The limits of settled events that are kept; nil keeps none (Behaviour R1).
    private var retention: Retention?
    /// No dispatcher needs the events up to this one.
    private var trimmedThrough: SequenceNumber = 0
    /// Settled events up to this one are no longer kept.
    private var unretainedThrough: SequenceNumber = 0
    /// The fault of all appends and writes while it is set, for tests of a full disk.
    public var fault: StoreFault?
    /// The dead letters, the oldest first (Behaviour D10).
    private var storedDeadLetters: [StoredDeadLetter] = []
    private var lastDeadLetter: DeadLetterNumber = 0
    /// The number of appended groups.
    public private(set) var groupCount = 0

    public var onDeadLettersDropped: ([DispatcherNumber: Int]) -> Void = { _ in }

    /// The dead letters, the oldest first (Behaviour D10).
    public var deadLetters: [DeadLetter] { storedDeadLetters.map(\.deadLetter) }

    public var deadLetterTally: Tally {
        Tally(events: storedDeadLetters.count, bytes: storedDeadLetters.reduce(0) { $0 + $1.deadLetter.record.count })
    }

    public init(scheduler: any Scheduler) {
        self.scheduler = scheduler
    }

    /// Returns the current state. A test can call it again, as if the store were reopened.
    public func open() throws(StoreFault) -> StoredState {
        var reopened = state
        reopened.deadLetterTally = deadLetterTally
        reopened.dispatchers = state.dispatchers.map { dispatcher in
            var dispatcher = dispatcher
            dispatcher.settled = settled(of: dispatcher)
            return dispatcher
        }
        for dispatcher in reopened.dispatchers { reopened.unsettled[dispatcher.number] = unsettled(of: dispatcher) }
        return reopened
    }

    public func append(_ group: AppendGroup, then: @escaping (StoreFault?) -> Void) {
        let gap = group.behind > state.lastSequenceNumber ? StoreFault.predecessorMissing : nil
        answer(fault ?? gap, then) {
            chunks.append(group.chunk)
            ages.append(group.ages)
            groupCount += 1
            state.lastSequenceNumber = group.chunk.lastSequenceNumber
            state.routes.merge(group.newRoutes) { _, new in new }
            state.kept.merge(group.initialState.kept) { known, _ in known }
            group.initialState.dispatchers.forEach(keep)
            if let ids = group.recentIDs { state.recentIDs.append(ids) }
            state.newestStamp = group.ages.lastReceipt
            forgetIDs(through: group.forgottenIDs)
            let requeued = Set(group.requeued)
            if !requeued.isEmpty { storedDeadLetters.removeAll { requeued.contains($0.number) } }
        }
    }

    public func read(
        after sequenceNumber: SequenceNumber, then: @escaping (Result<Chunk?, StoreFault>) -> Void
    ) {
        let index = firstIndex(behind: sequenceNumber)
        let chunk = index < chunks.count ? chunks[index] : nil
        scheduler.soon { then(.success(chunk)) }
    }

    public func readAged(_ range: AgedRange, then: @escaping (Result<Chunk?, StoreFault>) -> Void) {
        // The last group may extend beyond the range.
        let last = min(firstIndex(behind: range.through), chunks.count - 1)
        let indexes = firstIndex(behind: range.after)..<max(last + 1, firstIndex(behind: range.after))
        let chunk = indexes.first { range.includes(ages[$0]) }.map { chunks[$0] }
        scheduler.soon { then(.success(chunk)) }
    }

    /// Returns the index of the first chunk with events after a sequence number.
    private func firstIndex(behind sequenceNumber: SequenceNumber) -> Int {
        BinarySearch.first(in: 0..<chunks.count) { chunks[$0].lastSequenceNumber > sequenceNumber }
    }

    public func write(_ changes: [StoreChange], then: @escaping (StoreFault?) -> Void) {
        answer(fault, then) { changes.forEach(apply) }
    }

    public func readDeadLetters(
        _ query: DeadLetterQuery, then: @escaping (Result<StoredDeadLetterPage, StoreFault>) -> Void
    ) {
        var page = StoredDeadLetterPage(newest: lastDeadLetter)
        for deadLetter in storedDeadLetters where query.includes(deadLetter) {
            guard page.take(deadLetter, query) else { break }
        }
        scheduler.soon { then(.success(page)) }
    }

    public func purgeDeadLetters(_ query: DeadLetterQuery, then: @escaping (Result<Int, StoreFault>) -> Void) {
        let gone = Set(storedDeadLetters.filter(query.includes).prefix(query.limit).map(\.number))
        let finish = { (fault: StoreFault?) in then(fault.map { .failure($0) } ?? .success(gone.count)) }
        answer(fault, finish) { storedDeadLetters.removeAll { gone.contains($0.number) } }
    }

    public func close(then: @escaping () -> Void) {
        scheduler.soon(then)
    }

    private func keep(_ dispatcher: StoredDispatcher) {
        if let index = state.dispatchers.firstIndex(where: { $0.number == dispatcher.number }) {
            state.dispatchers[index].orphanedSince = dispatcher.orphanedSince
        } else {
            state.dispatchers.append(dispatcher)
        }
    }

    private func answer(_ fault: StoreFault?, _ then: @escaping (StoreFault?) -> Void, unless work: () -> Void) {
        if fault == nil { work() }
        scheduler.soon { then(fault) }
    }

    private func apply(_ change: StoreChange) {
        switch change {
        case .dispatcher(let dispatcher):
            state.dispatchers.removeAll { $0.number == dispatcher.number }
            state.dispatchers.append(dispatcher)
        case .forgetDispatcher(let number):
            state.dispatchers.removeAll { $0.number == number }
            storedDeadLetters.removeAll { $0.deadLetter.dispatcher == number }
        case .settled(let number, let settled):
            guard let index = state.dispatchers.firstIndex(where: { $0.number == number }) else { return }
            state.dispatchers[index].settled = settled
        case .deadLetter(let deadLetter):
            lastDeadLetter += 1
            storedDeadLetters.append(StoredDeadLetter(number: lastDeadLetter, deadLetter: deadLetter))
        case .limitDeadLetters(let bounds):
            while storedDeadLetters.count > 1, bounds.isExceeded(by: deadLetterTally) {
                onDeadLettersDropped([storedDeadLetters.removeFirst().deadLetter.dispatcher: 1])
            }
        case .trim(let sequenceNumber):
            trimmedThrough = max(trimmedThrough, min(sequenceNumber, state.lastSequenceNumber))
            dropUnretained()
        case .retain(let new):
            if retention == nil { unretainedThrough = max(unretainedThrough, trimmedThrough) }
            retention = new
            dropUnretained()
        case .forgetRoutes(let numbers):
            for number in numbers { state.routes[number] = nil }
        case .forgetIDs(let through): forgetIDs(through: through)
        case .keep(let name, let bytes):
            state.kept[name] = bytes
        }
    }

    // MARK: Erasing

    public let canEncrypt = true
    public let canErase = true

    public func scan(_ scan: ErasureScan, then: @escaping (Result<ErasureScan, StoreFault>) -> Void) {
        read(after: scan.position) { result in
            then(
                result.map { chunk in
                    var scan = scan
                    scan.take(chunk, self.isNeeded)
                    return scan
                })
        }
    }

    private func isNeeded(_ event: StoredEvent) -> Bool {
        if retention != nil { return true }
        let numbers = state.routes[event.route] ?? []
        return state.dispatchers.contains {
            numbers.contains($0.number) && !settled(of: $0).contains(event.sequenceNumber)
        }
    }

    public func erase(
        _ events: [SequenceNumber], _ deadLetters: [DeadLetterNumber],
        then: @escaping (Result<Void, StoreFault>) -> Void
    ) {
        let (events, deadLetters) = (Set(events), Set(deadLetters))
        let answered = { (fault: StoreFault?) in then(fault.map { .failure($0) } ?? .success(())) }
        answer(fault, answered) {
            for index in chunks.indices.reversed() {
                let rest = chunks[index].reduce(into: [UInt8]()) { bytes, event in
                    if !events.contains(event.sequenceNumber) { bytes += event.record }
                }
                guard rest.count < chunks[index].bytes.count else { continue }
                chunks[index] = Chunk(bytes: rest, lastSequenceNumber: chunks[index].lastSequenceNumber)
                guard rest.isEmpty else { continue }
                chunks.remove(at: index)
                ages.remove(at: index)
            }
            storedDeadLetters.removeAll { deadLetters.contains($0.number) }
        }
    }

    public func removeErasedBytes(then: @escaping (Result<Bool, StoreFault>) -> Void) {
        scheduler.soon { then(.success(true)) }
    }

    // MARK: Retaining

    public let canRewind = true

    public var retained: RetainedEvents {
        let settled = firstIndex(behind: trimmedThrough)
        let tallies = chunks[..<settled].map { RouteTallies($0).total }
        return RetainedEvents(
            tally: tallies.reduce(.zero, +), oldestStamp: settled > 0 ? ages.first?.firstReceipt : nil)
    }

    /// Drops the oldest settled chunks beyond the limits.
    private func dropUnretained() {
        let settled = firstIndex(behind: trimmedThrough)
        var cut = RetentionCut(retention ?? Retention(maxBytes: 0))
        for index in (0..<settled).reversed() {
            let bytes = chunks[index].reduce(0) { $0 + $1.byteCount }
            cut.add(
                RetentionCut.Span(
                    last: chunks[index].lastSequenceNumber, lastReceipt: ages[index].lastReceipt, settledBytes: bytes))
        }
        guard let through = cut.through else { return }
        unretainedThrough = max(unretainedThrough, through)
        let gone = firstIndex(behind: through)
        chunks.removeFirst(gone)
        ages.removeFirst(gone)
    }

    public func rewind(_ request: RewindRequest, then: @escaping (Result<RewindOutcome, StoreFault>) -> Void) {
        let outcome = fault.map { .failure($0) } ?? rewind(request)
        scheduler.soon { then(outcome) }
    }

    private func rewind(_ request: RewindRequest) -> Result<RewindOutcome, StoreFault> {
        guard let index = state.dispatchers.firstIndex(where: { $0.number == request.dispatcher }) else {
            return .failure(.failed("there is no dispatcher with the number \(request.dispatcher)"))
        }
        let oldest = chunks.first.map { KeptEvent($0.firstSequenceNumber, receivedStamp: ages[0].firstReceipt) }
        let range = RewindRange(unretainedThrough: retention == nil ? nil : unretainedThrough, oldest: oldest)
        guard range.allows(request.start) else { return .success(.notRetained(oldest)) }
        let first = first(request.start)
        var rewound = state.dispatchers[index]
        rewound.settled = settled(of: rewound).through(first - 1)
        if !request.isDryRun {
            state.routes.merge(request.routes) { $1 }
            for each in state.dispatchers.indices {
                state.dispatchers[each].settled = settled(of: state.dispatchers[each])
            }
            state.dispatchers[index] = rewound
            trimmedThrough = min(trimmedThrough, rewound.settled.position)
            state.kept.merge(request.marks(first)) { $1 }
        }
        return .success(
            .rewound(
                RewoundQueue(
                    first: first, settled: rewound.settled, unsettled: unsettled(of: rewound),
                    isComplete: range.isComplete(from: first), receipts: receipts(from: first))))
    }

    private func receipts(from first: SequenceNumber) -> ClosedRange<Int64>? {
        let receipts = chunks.joined().filter { $0.sequenceNumber >= first }.map(\.receivedStamp)
        return receipts.min().map { $0...(receipts.max() ?? $0) }
    }

    /// The events that a dispatcher has settled. An event that no dispatcher needs counts as settled by all of them.
    private func settled(of dispatcher: StoredDispatcher) -> Settled {
        let settled = dispatcher.settled
        return Settled(through: max(settled.position, trimmedThrough), and: settled.ranges)
    }

    private func first(_ start: RewindRequest.Start) -> SequenceNumber {
        switch start {
        case .sequenceNumber(let number): number
        case .receipt(let stamp):
            chunks.lazy.joined().first { $0.receivedStamp >= stamp }?.sequenceNumber ?? state.lastSequenceNumber + 1
        }
    }

    private func forgetIDs(through last: SequenceNumber) {
        let old = state.recentIDs.prefix { $0.lastSequenceNumber <= last }
        state.recentIDs.removeFirst(old.count)
    }

    private func unsettled(of dispatcher: StoredDispatcher) -> RouteTallies {
        let events = chunks.lazy.joined().filter {
            !dispatcher.settled.contains($0.sequenceNumber)
                && self.state.routes[$0.route]?.contains(dispatcher.number) == true
        }
        return RouteTallies(events)
    }
}
