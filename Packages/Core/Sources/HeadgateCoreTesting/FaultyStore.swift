import HeadgateCore

/// A memory store that fails, dawdles and loses things when a test says so.
public final class FaultyStore: EventStore {
    /// The store behind it; its `fault` makes appends and changes fail.
    public let memory: MemoryEventStore
    /// Whether answers to appends are held back until ``releaseAppend()``, or until this is false again.
    public var holdsAppends = false {
        didSet { while !holdsAppends, !held.isEmpty { releaseAppend() } }
    }
    /// Whether the disk hangs: nothing that is asked for is answered, ever.
    public var isSilent = false
    /// When set, changes fail with it, though appends do not.
    public var writeFault: StoreFault?
    /// When set, reading fails with it.
    public var readFault: StoreFault?
    /// How long the disk takes to find what is too old.
    public var agedReadTime = Duration.zero
    /// Groups of events up to this one can be read no more.
    public var lostThrough: SequenceNumber = 0
    /// So many events of each route are missing in what is counted when it is opened.
    public var uncounted = 0
    /// Called before dead letters are purged, each time.
    public var beforePurge: () -> Void = {}
    /// How often something was read, or tried to be.
    public private(set) var readCount = 0
    public private(set) var isClosed = false

    private let scheduler: any Scheduler
    private var held: [() -> Void] = []

    public init(scheduler: any Scheduler) {
        self.scheduler = scheduler
        memory = MemoryEventStore(scheduler: scheduler)
    }

    public var kind: String { memory.kind }
    public var letters: Tally { memory.letters }
    public var onLettersDropped: ([DispatcherNumber: Int]) -> Void {
        get { memory.onLettersDropped }
        set { memory.onLettersDropped = newValue }
    }

    public func open() throws(StoreFault) -> StoredState {
        var state = try memory.open()
        state.unsettled = state.unsettled.mapValues { routes in
            var counted = routes
            for (route, tally) in routes {
                counted.remove(Tally(events: uncounted, bytes: uncounted * tally.bytes / tally.events), route: route)
            }
            return counted
        }
        return state
    }

    public func append(_ group: AppendGroup, then: @escaping (StoreFault?) -> Void) {
        guard !isSilent else { return }
        memory.append(group) { [weak self] fault in
            guard let self, self.holdsAppends else { return then(fault) }
            self.held.append { then(fault) }
        }
    }

    /// Lets the oldest answer that was held back through.
    public func releaseAppend() {
        guard !held.isEmpty else { return }
        held.removeFirst()()
    }

    /// The process is killed: nobody waits for an answer any more.
    func forgetHeld() { held = [] }

    public func read(
        after sequenceNumber: SequenceNumber, then: @escaping (Result<Chunk?, StoreFault>) -> Void
    ) {
        readCount += 1
        guard let readFault else { return memory.read(after: max(sequenceNumber, lostThrough), then: then) }
        scheduler.soon { then(.failure(readFault)) }
    }

    public func readAged(_ stretch: AgedStretch, then: @escaping (Result<Chunk?, StoreFault>) -> Void) {
        if agedReadTime > .zero {
            let end = scheduler.now + agedReadTime
            _ = scheduler.schedule(at: end) { [memory] in memory.readAged(stretch, then: then) }
            return
        }
        guard let readFault else { return memory.readAged(stretch, then: then) }
        scheduler.soon { then(.failure(readFault)) }
    }

    public func write(_ changes: [StoreChange], then: @escaping (StoreFault?) -> Void) {
        guard !isSilent else { return }
        guard let writeFault else { return memory.write(changes, then: then) }
        scheduler.soon { then(writeFault) }
    }

    public func readLetters(_ query: LetterQuery, then: @escaping (Result<LetterPage, StoreFault>) -> Void) {
        guard let readFault else { return memory.readLetters(query, then: then) }
        scheduler.soon { then(.failure(readFault)) }
    }

    public func purgeLetters(_ query: LetterQuery, then: @escaping (Result<Int, StoreFault>) -> Void) {
        beforePurge()
        memory.purgeLetters(query, then: then)
    }

    public func close(then: @escaping () -> Void) {
        guard !isSilent else { return }
        isClosed = true
        memory.close(then: then)
    }
}
