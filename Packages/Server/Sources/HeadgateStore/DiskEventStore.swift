import Glibc
import HeadgateCore
import HeadgateData
import HeadgateTransport

/// The event store that is used unless settings or a program bring another: a log of segments in a directory of its own
/// (Behaviour Q1).
///
/// It lives on the scheduler. The files have a thread of their own, so that a disk that takes its time holds up nobody but
/// those who wait for it; appends and changes that are waiting when that thread gets free are committed together.
public final class DiskEventStore: EventStore {
    public let kind = "log"

    /// What an event store on disk has to know.
    public struct Options: Sendable {
        /// The data directory. It is made, mode 0700, when it is missing.
        public var directory: String
        /// How safe events are when they count as appended (Behaviour Q5). This store has no use for `memory`: it is
        /// taken as `normal`.
        public var durability: Durability
        /// How many ids of clients a start gives back, the newest; what is beyond is let go of bit by bit (Behaviour Q7).
        public var mostRecentIDs = StoreLimits().dedupeIDs
        /// Bytes of a segment of the log, and of what is read of it at once.
        var segmentSize = 8 << 20
        /// Bytes of the smallest segment that is worth while where there is no room for a whole one.
        var leastSegmentSize = 64 << 10
        var blockSize = 256 << 10
        /// Records of a group that take so many bytes are packed. What takes less fits into one block of the disk, and is not.
        var leastPacked = 4 << 10
        /// With so many bytes ids go into a file of their own.
        var mostUnfiledIDBytes = 256 << 10
        /// Where the directory is.
        var disk: any Disk = SystemDisk()
        /// What time it is for people; called on the store's thread.
        var wall: @Sendable () -> Timestamp = { Timestamp.ofSystem }
        /// By what it is seen how quickly the disk answers; called by whoever works for the store.
        var clock: @Sendable () -> ContinuousClock.Instant = { .now }

        public init(directory: String, durability: Durability = .full) {
            self.directory = directory
            self.durability = durability
        }
    }

    /// Bytes of its files (`status.store.disk_bytes`, Behaviour Q10).
    @exclusivity(unchecked) public private(set) var diskBytes = 0
    /// The dead letters that it keeps, and the bytes of their events (Behaviour D10).
    @exclusivity(unchecked) public private(set) var letters = Tally.zero
    /// How long it took to bring what was written onto the disk (Behaviour O1).
    public var syncing: Histogram { syncTimes?.histogram ?? Histogram(.seconds) }
    /// Called on the scheduler with the number of events that were found damaged and put aside (Behaviour Q8).
    @exclusivity(unchecked) public var onQuarantine: (Int) -> Void = { _ in }
    /// Called on the scheduler when files that were taken away were begun anew, with the number of events that were lost at most.
    @exclusivity(unchecked) public var onRenewal: (Int) -> Void = { _ in }
    @exclusivity(unchecked) public var onLettersDropped: ([DispatcherNumber: Int]) -> Void = { _ in }

    private let post: @Sendable (@escaping @Sendable () -> Void) -> Void
    private let door: SchedulerDoor
    private let desk: any StoreDesk
    private let syncTimes: SyncTimes?
    @exclusivity(unchecked) private var isOpen = false
    /// Who waits for what is asked of the desk, in order.
    @exclusivity(unchecked) private var waiting: [Completion] = []

    /// Who asked while the store was not open.
    private var refused: [Completion] = []

    /// - Parameter post: runs work on the scheduler soon; it is called from the store's thread, and on the scheduler.
    public convenience init(options: Options, post: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
        self.init(
            desk: ThreadedStoreDesk(options: options), syncTimes: options.disk.syncTimes, post: post
        )
    }

    /// A store whose scheduler is an event loop.
    package convenience init(options: Options, loop: EventLoop) {
        let desk = ThreadedStoreDesk(options: options, loop: loop)
        self.init(desk: desk, syncTimes: options.disk.syncTimes) { loop.submit($0) }
        desk.onOutcomes = { [door] in door.store?.takeOutcomes() }
    }

    /// - Parameter desk: where its jobs are carried out.
    init(
        desk: any StoreDesk, syncTimes: SyncTimes? = nil,
        post: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
    ) {
        self.desk = desk
        self.syncTimes = syncTimes
        self.post = post
        door = SchedulerDoor()
        door.store = self
    }

    public func open() throws(StoreFault) -> StoredState {
        guard !isOpen else { throw .failed("the store is open already") }
        let state = try desk.open { [door, post] in
            post { door.store?.takeOutcomes() }
        }
        isOpen = true
        letters = state.letters
        return state
    }

    public func append(_ group: AppendGroup, then: @escaping (StoreFault?) -> Void) {
        ask(.append(group), .done(then))
    }

    public func read(
        after sequenceNumber: SequenceNumber, then: @escaping (Result<Chunk?, StoreFault>) -> Void
    ) {
        ask(.read(after: sequenceNumber), .read(then))
    }

    public func readAged(_ stretch: AgedStretch, then: @escaping (Result<Chunk?, StoreFault>) -> Void) {
        ask(.readAged(stretch), .read(then))
    }

    public func survey(_ survey: EventSurvey, then: @escaping (Result<EventSurvey, StoreFault>) -> Void) {
        ask(.survey(survey), .surveyed(then))
    }

    public func write(_ changes: [StoreChange], then: @escaping (StoreFault?) -> Void) {
        ask(.write(changes), .done(then))
    }

    public func readLetters(_ query: LetterQuery, then: @escaping (Result<LetterPage, StoreFault>) -> Void) {
        ask(.readLetters(query), .letters(then))
    }

    public func purgeLetters(_ query: LetterQuery, then: @escaping (Result<Int, StoreFault>) -> Void) {
        ask(.purgeLetters(query), .purged(then))
    }

    public func close(then: @escaping () -> Void) {
        ask(.close, .closed(then))
    }

    private func ask(_ job: StoreJob, _ completion: Completion) {
        guard isOpen, !isClosing else { return refuse(completion) }
        waiting.append(completion)
        desk.put(job)
    }

    private var isClosing: Bool {
        if case .closed = waiting.last { true } else { false }
    }

    /// Answers what is asked of a store that is not open: later, as everything is.
    private func refuse(_ completion: Completion) {
        refused.append(completion)
        post { [door] in door.store?.answerRefused() }
    }

    private func answerRefused() {
        let completions = refused
        refused = []
        for completion in completions { completion.refuse() }
    }

    private func takeOutcomes() {
        for outcome in desk.takeOutcomes() { deliver(outcome) }
    }

    private func deliver(_ outcome: StoreOutcome) {
        switch outcome {
        case .quarantined(let events): onQuarantine(events)
        case .renewed(let lost): onRenewal(lost)
        case .lettersDropped(let numbers): onLettersDropped(numbers)
        case .lettersKept(let tally): letters = tally
        case .size(let bytes): diskBytes = bytes
        case .closed:
            isOpen = false
            waiting.takeFirst().take(outcome)
        case .done, .read, .surveyed, .letters, .purged:
            waiting.takeFirst().take(outcome)
        }
    }
}

/// Someone who waits for an outcome.
private enum Completion {
    case done((StoreFault?) -> Void)
    case read((Result<Chunk?, StoreFault>) -> Void)
    case surveyed((Result<EventSurvey, StoreFault>) -> Void)
    case letters((Result<LetterPage, StoreFault>) -> Void)
    case purged((Result<Int, StoreFault>) -> Void)
    case closed(() -> Void)

    func take(_ outcome: StoreOutcome) {
        switch (self, outcome) {
        case (.done(let then), .done(let fault)): then(fault)
        case (.read(let then), .read(let result)): then(result)
        case (.surveyed(let then), .surveyed(let result)): then(result)
        case (.letters(let then), .letters(let result)): then(result)
        case (.purged(let then), .purged(let result)): then(result)
        case (.closed(let then), .closed): then()
        default: preconditionFailure("the store's thread answered out of order")
        }
    }

    func refuse() {
        let fault = StoreFault.failed("the event store is not open")
        switch self {
        case .done(let then): then(fault)
        case .read(let then): then(.failure(fault))
        case .surveyed(let then): then(.failure(fault))
        case .letters(let then): then(.failure(fault))
        case .purged(let then): then(.failure(fault))
        case .closed(let then): then()
        }
    }
}

/// The way back from the store's thread to the store.
///
/// `@unchecked`: passed on by any thread, but looked into only by work that was posted to the scheduler, where the store
/// lives.
private final class SchedulerDoor: @unchecked Sendable {
    @exclusivity(unchecked) weak var store: DiskEventStore?
}

typealias StoreOptions = DiskEventStore.Options

extension StoreOptions {
    var logDirectory: String { directory + "/log" }
}

extension Timestamp {
    /// What the system's wall clock says.
    package static var ofSystem: Timestamp {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Timestamp(milliseconds: Int64(now.tv_sec) * 1_000 + Int64(now.tv_nsec) / 1_000_000)
    }
}
