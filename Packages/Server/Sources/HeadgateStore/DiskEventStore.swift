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
    /// The log can keep settled events, and make them unsettled again (Behaviour R1, R2).
    public let canRewind = true
    /// The retained events.
    @exclusivity(unchecked) public private(set) var retained = RetainedEvents.none
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
    private let opening: StoreOpening
    private let syncTimes: SyncTimes?
    /// The place where jobs are carried out; nil while the store is not open.
    @exclusivity(unchecked) private var desk: (any StoreDesk)?
    @exclusivity(unchecked) private var isClosing = false

    /// - Parameter post: runs work on the scheduler soon; it is called from the store's thread, and on the scheduler.
    public convenience init(options: Options, post: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
        let opening: StoreOpening = { (ring) throws(StoreFault) in
            let workers = StoreWorkers(options: options, loop: nil, ring: ring)
            return (workers, try workers.start())
        }
        self.init(opening: opening, syncTimes: options.disk.syncTimes, post: post)
    }

    /// A store whose scheduler is an event loop: where the disk answers quickly, the loop's own thread commits between two turns.
    package convenience init(options: Options, loop: EventLoop) {
        let door = SchedulerDoor()
        let opening: StoreOpening = { (ring) throws(StoreFault) in
            let workers = StoreWorkers(options: options, loop: loop, ring: ring)
            let state = try workers.start()
            workers.onNews = { door.store?.takeNews() }
            return (workers, state)
        }
        self.init(opening: opening, syncTimes: options.disk.syncTimes, door: door) { loop.submit($0) }
    }

    /// - Parameter opening: opens the store, with the place where its jobs are carried out.
    init(
        opening: @escaping StoreOpening, syncTimes: SyncTimes? = nil, door: SchedulerDoor = SchedulerDoor(),
        post: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
    ) {
        (self.opening, self.syncTimes, self.post, self.door) = (opening, syncTimes, post, door)
        door.store = self
    }

    deinit {
        desk?.put(.close())
    }

    public func open() throws(StoreFault) -> StoredState {
        guard desk == nil else { throw .failed("the store is open already") }
        let (desk, state) = try opening { [door, post] in
            post { door.store?.takeNews() }
        }
        (self.desk, letters, isClosing) = (desk, state.letters, false)
        return state
    }

    public func append(_ group: AppendGroup, then: @escaping (StoreFault?) -> Void) {
        ask(.append(group, then: then)) { then($0) }
    }

    public func write(_ changes: [StoreChange], then: @escaping (StoreFault?) -> Void) {
        ask(.write(changes, then: then)) { then($0) }
    }

    public func read(
        after sequenceNumber: SequenceNumber, then: @escaping (Result<Chunk?, StoreFault>) -> Void
    ) {
        ask(then) { $0.read(after: sequenceNumber) }
    }

    public func readAged(_ stretch: AgedRange, then: @escaping (Result<Chunk?, StoreFault>) -> Void) {
        ask(then) { $0.readAged(stretch) }
    }

    public func survey(_ survey: EventScan, then: @escaping (Result<EventScan, StoreFault>) -> Void) {
        ask(then) { $0.take(survey) }
    }

    public func readLetters(_ query: DeadLetterQuery, then: @escaping (Result<LetterPage, StoreFault>) -> Void) {
        ask(then, isAboutLetters: true) { $0.readLetters(query) }
    }

    public func purgeLetters(_ query: DeadLetterQuery, then: @escaping (Result<Int, StoreFault>) -> Void) {
        ask(then, isAboutLetters: true) { $0.purgeLetters(query) }
    }

    /// Later appends and changes wait for a rewind, as for a read of dead letters: it counts the events of its moment.
    public func rewind(_ request: RewindRequest, then: @escaping (Result<RewindOutcome, StoreFault>) -> Void) {
        ask(then, isAboutLetters: true) { $0.rewind(request) }
    }

    public func close(then: @escaping () -> Void) {
        let job = StoreJob.close { [door] in
            door.store?.desk = nil
            then()
        }
        ask(job) { _ in then() }
        isClosing = true
    }

    // MARK: Asking and answering

    private func ask<Value>(
        _ then: @escaping (Result<Value, StoreFault>) -> Void, isAboutLetters: Bool = false,
        _ work: @escaping (LogEngine) -> Result<Value, StoreFault>
    ) {
        ask(.ask(isAboutLetters: isAboutLetters, work, then: then)) { then(.failure($0)) }
    }

    /// - Parameter refuse: answers where the store is not open: later, as everything is answered.
    private func ask(_ job: StoreJob, orRefuse refuse: @escaping (StoreFault) -> Void) {
        if let desk, !isClosing { return desk.put(job) }
        let refusal = StoreNews(answers: [{ refuse(.failed("the event store is not open")) }])
        post { [door] in door.store?.take(refusal) }
    }

    fileprivate func takeNews() {
        for news in desk?.takeNews() ?? [] { take(news) }
    }

    private func take(_ news: StoreNews) {
        if let kept = news.letters { letters = kept }
        if let bytes = news.diskBytes { diskBytes = bytes }
        if let retained = news.retained { self.retained = retained }
        if news.quarantined > 0 { onQuarantine(news.quarantined) }
        if let lost = news.lost { onRenewal(lost) }
        if !news.droppedLetters.isEmpty { onLettersDropped(news.droppedLetters) }
        for answer in news.answers { answer() }
    }
}

/// The way back from the store's thread to the store.
///
/// `@unchecked`: passed on by any thread, but looked into only by work that was posted to the scheduler, where the store
/// lives.
final class SchedulerDoor: @unchecked Sendable {
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
