import HeadgateCore
import HeadgateData

@testable import HeadgateServer
@testable import HeadgateStore

/// The event store on a simulated disk. It reports every request and answer to the ledger.
final class WitnessedStore: EventStore {
    let disk: SimulatedDisk
    let executor: SimulatedStoreExecutor
    private let store: DiskEventStore
    private let ledger: Ledger
    /// Completions of outstanding requests. They are kept here, so that the store references nothing of the daemon,
    /// which can then be released.
    private var waiting: [Int: Any] = [:]
    private var requested = 0
    /// The number of reads that have no answer yet.
    private var reads = 0

    /// True if a read has no answer yet.
    var isReading: Bool { reads > 0 }
    /// Called with the contents of an opened store.
    private let opened: (StoredState, [Chunk], [StoredDeadLetter]) -> Void

    init(
        _ disk: SimulatedDisk, _ scene: Scene, _ scheduler: SimulatedScheduler, _ ledger: Ledger,
        opened: @escaping (StoredState, [Chunk], [StoredDeadLetter]) -> Void
    ) {
        var options = DiskEventStore.Options(directory: "/data", durability: scene.durability)
        options.disk = disk
        options.leastPacked = ledger.record.pick([1, 400, 4_096])
        (options.segmentSize, options.blockSize, options.mostUnfiledIDBytes) = (scene.segmentSize, 512, 512)
        if let room = scene.diskRoom { options.leastSegmentSize = room.leastSegmentSize }
        let door = ClockDoor(scheduler)
        options.wall = { door.scheduler.wall }
        self.disk = disk
        self.ledger = ledger
        self.opened = opened
        executor = SimulatedStoreExecutor(options: options, disk, scheduler, ledger.record)
        let opening: StoreOpening = { [executor] (ring) throws(StoreFault) in (executor, try executor.open(ring: ring))
        }
        store = DiskEventStore(opening: opening) { door.scheduler.submit($0) }
    }

    var kind: String { store.kind }
    var onDeadLettersDropped: ([DispatcherNumber: Int]) -> Void {
        get { store.onDeadLettersDropped }
        set { store.onDeadLettersDropped = newValue }
    }

    func open() throws(StoreFault) -> StoredState {
        let state = try store.open()
        // A call whose failure the store ignores may have ended the daemon.
        guard !disk.isDown else {
            // Contents that the store quarantined before the end are gone, though it did not report them.
            ledger.corrupt?.found(state.warnings)
            throw .failed("the daemon is gone")
        }
        disk.whileWell { opened(state, executor.readAll(), executor.readAllDeadLetters()) }
        return state
    }

    /// All dead letters, regardless of the disk's condition.
    var allDeadLetters: [StoredDeadLetter] { disk.whileWell { executor.readAllDeadLetters() } }

    var deadLetterTally: Tally { store.deadLetterTally }

    func append(_ group: AppendGroup, then: @escaping (StoreFault?) -> Void) {
        ledger.requested(group)
        store.append(
            group,
            then: later { [ledger] fault in
                ledger.answered(group, fault)
                then(fault)
            })
    }

    func write(_ changes: [StoreChange], then: @escaping (StoreFault?) -> Void) {
        ledger.note(changes)
        ledger.deadLetters.requested(changes, dead: ledger.dead)
        store.write(
            changes,
            then: later { [ledger] fault in
                ledger.deadLetters.answered(changes, fault)
                then(fault)
            })
    }

    func read(after number: SequenceNumber, then: @escaping (Result<Chunk?, StoreFault>) -> Void) {
        reads += 1
        store.read(
            after: number,
            then: later { [self] result in
                reads -= 1
                then(result)
            })
    }

    func readAged(_ range: AgedRange, then: @escaping (Result<Chunk?, StoreFault>) -> Void) {
        store.readAged(range, then: later(then))
    }

    func readDeadLetters(_ query: DeadLetterQuery, then: @escaping (Result<StoredDeadLetterPage, StoreFault>) -> Void) {
        store.readDeadLetters(
            query,
            then: later { [ledger] result in
                if case .success(let page) = result { ledger.deadLetters.read(page) }
                then(result)
            })
    }

    func purgeDeadLetters(_ query: DeadLetterQuery, then: @escaping (Result<Int, StoreFault>) -> Void) {
        ledger.deadLetters.purging(query)
        store.purgeDeadLetters(
            query,
            then: later { [self] result in
                if !disk.isDown, executor.isOpen { ledger.deadLetters.purged(query, try? result.get(), allDeadLetters) }
                then(result)
            })
    }

    func close(then: @escaping () -> Void) {
        let reported = later { (_: Void) in then() }
        store.close { reported(()) }
    }

    private func later<Outcome>(_ then: @escaping (Outcome) -> Void) -> (Outcome) -> Void {
        requested += 1
        waiting[requested] = then
        return { [weak self, number = requested] outcome in
            (self?.waiting.removeValue(forKey: number) as? (Outcome) -> Void)?(outcome)
        }
    }

    /// Records that the daemon has ended.
    func end() {
        disk.end()
        executor.end()
        waiting = [:]
    }
}

/// A reference that passes the scheduler to Sendable closures, which are called only on the history's thread.
final class ClockDoor: @unchecked Sendable {
    let scheduler: SimulatedScheduler

    init(_ scheduler: SimulatedScheduler) {
        self.scheduler = scheduler
    }
}
