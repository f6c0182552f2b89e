import HeadgateCore

/// A memory store with faults: it fails, delays answers and loses events as a test requires.
public final class FaultyStore: EventStore {
    /// The underlying store. Its `fault` makes appends and writes fail.
    public let memory: MemoryEventStore
    /// True to hold answers to appends back until ``releaseAppend()`` is called, or until the value is false again.
    public var holdsAppends = false {
        didSet { while !holdsAppends, !held.isEmpty { releaseAppend() } }
    }
    /// True if the disk hangs: no operation is ever answered.
    public var isSilent = false
    /// True to hold back reads of events and dead letters until this is false again.
    public var holdsReads = false {
        didSet {
            guard !holdsReads else { return }
            let reads = heldReads
            heldReads = []
            for read in reads { read() }
        }
    }
    /// The fault of writes while it is set. Appends do not fail.
    public var writeFault: StoreFault?
    /// The fault of rewinds while it is set.
    public var rewindFault: StoreFault?
    /// True to answer rewinds with a fault although the store makes them, as after a write that failed and is found on
    /// the disk.
    public var deniesRewinds = false
    /// The fault of reads while it is set.
    public var readFault: StoreFault?
    /// The duration of a read for events that are too old.
    public var agedReadTime = Duration.zero
    /// The last event of the groups that can no longer be read.
    public var lostThrough: SequenceNumber = 0
    /// The number of events per route that are missing from the counts when the store is opened or rewound.
    public var uncounted = 0
    /// Called each time before dead letters are purged.
    public var beforePurge: () -> Void = {}
    /// The number of reads, including failed ones.
    public private(set) var readCount = 0
    /// The number of reads of pages of dead letters.
    public private(set) var deadLetterReadCount = 0
    public private(set) var isClosed = false

    private let scheduler: any Scheduler
    private var held: [() -> Void] = []
    private var heldReads: [() -> Void] = []

    public init(scheduler: any Scheduler) {
        self.scheduler = scheduler
        memory = MemoryEventStore(scheduler: scheduler)
    }

    public var kind: String { memory.kind }
    public var deadLetterTally: Tally { memory.deadLetterTally }
    public var onDeadLettersDropped: ([DispatcherNumber: Int]) -> Void {
        get { memory.onDeadLettersDropped }
        set { memory.onDeadLettersDropped = newValue }
    }

    public func open() throws(StoreFault) -> StoredState {
        var state = try memory.open()
        state.unsettled = state.unsettled.mapValues(count)
        return state
    }

    private func count(_ routes: RouteTallies) -> RouteTallies {
        var counted = routes
        for (route, tally) in routes {
            counted.remove(Tally(events: uncounted, bytes: uncounted * tally.bytes / tally.events), route: route)
        }
        return counted
    }

    public func append(_ group: AppendGroup, then: @escaping (StoreFault?) -> Void) {
        guard !isSilent else { return }
        memory.append(group) { [weak self] fault in
            guard let self, self.holdsAppends else { return then(fault) }
            self.held.append { then(fault) }
        }
    }

    /// Delivers the oldest answer that was held back.
    public func releaseAppend() {
        guard !held.isEmpty else { return }
        held.removeFirst()()
    }

    /// Drops the answers that are held back, as if the process were killed.
    func forgetHeld() { held = [] }

    public func read(
        after sequenceNumber: SequenceNumber, then: @escaping (Result<Chunk?, StoreFault>) -> Void
    ) {
        readCount += 1
        if holdsReads { return heldReads.append { [self] in read(after: sequenceNumber, then: then) } }
        guard let readFault else { return memory.read(after: max(sequenceNumber, lostThrough), then: then) }
        scheduler.soon { then(.failure(readFault)) }
    }

    public func readAged(_ range: AgedRange, then: @escaping (Result<Chunk?, StoreFault>) -> Void) {
        if agedReadTime > .zero {
            let end = scheduler.now + agedReadTime
            _ = scheduler.schedule(at: end) { [memory] in memory.readAged(range, then: then) }
            return
        }
        guard let readFault else { return memory.readAged(range, then: then) }
        scheduler.soon { then(.failure(readFault)) }
    }

    public func write(_ changes: [StoreChange], then: @escaping (StoreFault?) -> Void) {
        guard !isSilent else { return }
        guard let writeFault else { return memory.write(changes, then: then) }
        scheduler.soon { then(writeFault) }
    }

    public func readDeadLetters(
        _ query: DeadLetterQuery, then: @escaping (Result<StoredDeadLetterPage, StoreFault>) -> Void
    ) {
        deadLetterReadCount += 1
        if holdsReads { return heldReads.append { [self] in readDeadLetters(query, then: then) } }
        guard let readFault else { return memory.readDeadLetters(query, then: then) }
        scheduler.soon { then(.failure(readFault)) }
    }

    public func purgeDeadLetters(_ query: DeadLetterQuery, then: @escaping (Result<Int, StoreFault>) -> Void) {
        beforePurge()
        memory.purgeDeadLetters(query, then: then)
    }

    public var canRewind: Bool { memory.canRewind }
    public var retained: RetainedEvents { memory.retained }

    public func rewind(_ request: RewindRequest, then: @escaping (Result<RewindOutcome, StoreFault>) -> Void) {
        guard !isSilent else { return }
        if let rewindFault { return scheduler.soon { then(.failure(rewindFault)) } }
        memory.rewind(request) { [self] result in
            guard case .success(.rewound(var queue)) = result else { return then(result) }
            queue.unsettled = count(queue.unsettled)
            then(deniesRewinds ? .failure(.failed("the disk")) : .success(.rewound(queue)))
        }
    }

    public var canEncrypt: Bool { memory.canEncrypt }
    public var canErase: Bool { memory.canErase }

    public func scan(_ scan: ErasureScan, then: @escaping (Result<ErasureScan, StoreFault>) -> Void) {
        memory.scan(scan, then: then)
    }

    public func erase(
        _ events: [SequenceNumber], _ deadLetters: [DeadLetterNumber],
        then: @escaping (Result<Void, StoreFault>) -> Void
    ) {
        memory.erase(events, deadLetters, then: then)
    }

    public func removeErasedBytes(then: @escaping (Result<Bool, StoreFault>) -> Void) {
        memory.removeErasedBytes(then: then)
    }

    public func close(then: @escaping () -> Void) {
        guard !isSilent else { return }
        isClosed = true
        memory.close(then: then)
    }
}
