import HeadgateCore
import HeadgateEncryption
import HeadgateTransport

/// The default event store: a log of segments in a directory of its own (Behaviour Q1).
///
/// It lives on the scheduler. A thread of its own writes the files, so that a slow disk delays only the clients that
/// wait for it. Appends and changes that arrive meanwhile are committed together.
public final class DiskEventStore: EventStore {
    public typealias Options = StoreOptions

    public let kind = "log"

    /// The bytes of the files (`status.store.disk_bytes`, Behaviour Q10).
    public var diskBytes: Int { sizes.diskBytes }
    /// The log can keep settled events, and make them unsettled again (Behaviour R1, R2).
    public let canRewind = true
    /// The retained events.
    public var retained: RetainedEvents { sizes.retained }
    /// The number of dead letters, and the bytes of their events (Behaviour D10).
    public var deadLetterTally: Tally { sizes.deadLetterTally }
    /// The sizes that the engine reported last.
    @exclusivity(unchecked) private var sizes = StoreSizes()
    /// The keys that encrypt the files; nil if the store has no keys (Behaviour C2).
    @exclusivity(unchecked) package private(set) var encryption: StoreEncryption?
    /// The durations of syncs (Behaviour O1).
    public var syncing: Histogram { syncTimes?.histogram ?? Histogram(.seconds) }
    /// Called on the scheduler with the number of events that were found damaged and put aside (Behaviour Q8).
    @exclusivity(unchecked) public var onQuarantine: (Int) -> Void = { _ in }
    /// Called on the scheduler after files were removed and recreated, with the most events that may be lost.
    @exclusivity(unchecked) public var onRenewal: (Int) -> Void = { _ in }
    @exclusivity(unchecked) public var onDeadLettersDropped: ([DispatcherNumber: Int]) -> Void = { _ in }

    private let post: @Sendable (@escaping @Sendable () -> Void) -> Void
    private let reference: StoreReference
    private let opening: StoreOpening
    private let syncTimes: SyncTimes?
    /// The executor of jobs; nil while the store is not open.
    @exclusivity(unchecked) private var executor: (any StoreExecutor)?
    @exclusivity(unchecked) private var isClosing = false

    /// - Parameter post: runs work on the scheduler soon. It is called on the store's thread, and on the scheduler.
    public convenience init(options: Options, post: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
        let opening: StoreOpening = { (ring) throws(StoreFault) in
            let workers = StoreWorkers(options: options, loop: nil, ring: ring)
            return (workers, try workers.start())
        }
        self.init(opening: opening, syncTimes: options.disk.syncTimes, post: post)
    }

    /// Creates a store whose scheduler is an event loop. If the disk is quick, the loop's own thread commits between
    /// two turns.
    package convenience init(options: Options, loop: EventLoop) {
        let reference = StoreReference()
        let opening: StoreOpening = { (ring) throws(StoreFault) in
            let workers = StoreWorkers(options: options, loop: loop, ring: ring)
            let state = try workers.start()
            workers.onNews = { reference.store?.takeNews() }
            return (workers, state)
        }
        self.init(opening: opening, syncTimes: options.disk.syncTimes, reference: reference) { loop.submit($0) }
    }

    /// - Parameter opening: opens the store, and returns the executor of its jobs.
    init(
        opening: @escaping StoreOpening, syncTimes: SyncTimes? = nil, reference: StoreReference = StoreReference(),
        post: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
    ) {
        (self.opening, self.syncTimes, self.post, self.reference) = (opening, syncTimes, post, reference)
        reference.store = self
    }

    deinit {
        executor?.put(.close())
    }

    public func open() throws(StoreFault) -> StoredState {
        guard executor == nil else { throw .failed("the store is already open") }
        let (executor, state) = try opening { [reference, post] in
            post { reference.store?.takeNews() }
        }
        (self.executor, sizes.deadLetterTally, isClosing) = (executor, state.deadLetterTally, false)
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

    public func readAged(_ span: AgedRange, then: @escaping (Result<Chunk?, StoreFault>) -> Void) {
        ask(then) { $0.readAged(span) }
    }

    public func scan(_ scan: EventScan, then: @escaping (Result<EventScan, StoreFault>) -> Void) {
        ask(then) { $0.take(scan) }
    }

    public func readDeadLetters(
        _ query: DeadLetterQuery, then: @escaping (Result<StoredDeadLetterPage, StoreFault>) -> Void
    ) {
        ask(then, isAboutDeadLetters: true) { $0.readDeadLetters(query) }
    }

    public func purgeDeadLetters(_ query: DeadLetterQuery, then: @escaping (Result<Int, StoreFault>) -> Void) {
        ask(then, isAboutDeadLetters: true) { $0.purgeDeadLetters(query) }
    }

    /// Rewinds a dispatcher. Later appends and changes wait for the rewind, because it must not count later events.
    public func rewind(_ request: RewindRequest, then: @escaping (Result<RewindOutcome, StoreFault>) -> Void) {
        ask(then, isAboutDeadLetters: true) { $0.rewind(request) }
    }

    public let canEncrypt = true
    public let canErase = true

    public func scan(_ scan: ErasureScan, then: @escaping (Result<ErasureScan, StoreFault>) -> Void) {
        ask(then) { $0.take(scan) }
    }

    /// Records an erasure. Later changes wait for it, because it must not apply to later dead letters.
    public func erase(
        _ events: [SequenceNumber], _ deadLetters: [DeadLetterNumber],
        then: @escaping (Result<Void, StoreFault>) -> Void
    ) {
        ask(then, isAboutDeadLetters: true) { $0.erase(events, deadLetters) }
    }

    public func removeErasedBytes(then: @escaping (Result<Bool, StoreFault>) -> Void) {
        ask(then) { $0.removeErasedBytes() }
    }

    public func beginBackup(without names: [String]) -> (any StoreBackup)? {
        DiskBackup(of: self, LogBackup(without: names))
    }

    /// Rewrites all files that are not encrypted with the first key, in the background (Behaviour C2).
    /// - Parameter keys: the keys from now on; nil leaves them as they are.
    /// - Returns: a fault if a key is missing that files need. Then nothing changes.
    package func rekey(_ keys: EncryptionKeys?, then: @escaping (StoreFault?) -> Void) {
        let answer = { [reference] (result: Result<StoreEncryption, StoreFault>) in
            switch result {
            case .success(let found):
                reference.store?.encryption = found
                then(nil)
            case .failure(let fault): then(fault)
            }
        }
        ask(answer) { $0.rekey(keys) }
    }

    fileprivate func next(of backup: LogBackup, then: @escaping (Result<BackupPiece, StoreFault>) -> Void) {
        ask(then) { $0.next(of: backup) }
    }

    public func close(then: @escaping () -> Void) {
        let job = StoreJob.close { [reference] in
            reference.store?.executor = nil
            then()
        }
        ask(job) { _ in then() }
        isClosing = true
    }

    // MARK: Requests and answers

    private func ask<Value>(
        _ then: @escaping (Result<Value, StoreFault>) -> Void, isAboutDeadLetters: Bool = false,
        _ work: @escaping (LogEngine) -> Result<Value, StoreFault>
    ) {
        ask(.ask(isAboutDeadLetters: isAboutDeadLetters, work, then: then)) { then(.failure($0)) }
    }

    /// - Parameter refuse: answers if the store is not open. It is called later, like all answers.
    private func ask(_ job: StoreJob, orRefuse refuse: @escaping (StoreFault) -> Void) {
        if let executor, !isClosing { return executor.put(job) }
        let refusal = StoreNews(answers: [{ refuse(.failed("the event store is not open")) }])
        post { [reference] in reference.store?.take(refusal) }
    }

    fileprivate func takeNews() {
        for news in executor?.takeNews() ?? [] { take(news) }
    }

    private func take(_ news: StoreNews) {
        if let new = news.sizes { sizes = new }
        if let found = news.encryption { encryption = found }
        let losses = news.losses
        if losses.quarantined > 0 { onQuarantine(losses.quarantined) }
        if let lost = losses.renewed { onRenewal(lost) }
        if !losses.droppedDeadLetters.isEmpty { onDeadLettersDropped(losses.droppedDeadLetters) }
        for answer in news.answers { answer() }
    }
}

/// A backup of the store, as the scheduler sees it. The engine's owner makes its pieces.
private final class DiskBackup: StoreBackup {
    private let store: DiskEventStore
    private let backup: LogBackup

    init(of store: DiskEventStore, _ backup: LogBackup) {
        (self.store, self.backup) = (store, backup)
    }

    func next(then: @escaping (Result<BackupPiece, StoreFault>) -> Void) { store.next(of: backup, then: then) }
}

/// The reference from other threads to the store.
///
/// `@unchecked`: any thread passes it on, and only work on the scheduler, where the store lives, uses it.
final class StoreReference: @unchecked Sendable {
    @exclusivity(unchecked) weak var store: DiskEventStore?
}
