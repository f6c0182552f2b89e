import Glibc
import HeadgateCore
import HeadgateTransport

/// The event store that is used unless a program brings another: one SQLite database in a directory of its own
/// (Behaviour Q1).
///
/// It lives on the scheduler. The database has a thread of its own, so that a disk that takes its time holds up nobody but
/// those who wait for it; appends and changes that are waiting when that thread gets free are committed together.
public final class SQLiteEventStore: EventStore {
    public let kind = "sqlite"

    /// What an SQLite event store has to know.
    public struct Options: Sendable {
        /// The data directory. It is made, mode 0700, when it is missing.
        public var directory: String
        /// How safe events are when they count as appended (Behaviour Q5). This store has no use for `memory`: it is
        /// taken as `normal`.
        public var durability: Durability
        /// The most pages of 16 KiB that the file may have; nil is as many as fit on the disk.
        public var mostPages: Int?
        /// How many ids of clients a start gives back, the newest; what is beyond is let go of bit by bit (Behaviour Q7).
        public var mostRecentIDs = StoreLimits().dedupeIDs
        /// The most dead letters that are kept; the oldest go first (Behaviour D10).
        public var mostDeadLetters = 10_000
        /// The most bytes of events that dead letters may hold; the oldest go first (Behaviour D10).
        public var mostDeadLetterBytes = 64 << 20

        public init(directory: String, durability: Durability = .full) {
            self.directory = directory
            self.durability = durability
        }
    }

    /// Called on the scheduler with the number of events that were found damaged and put aside (Behaviour Q8).
    public var onQuarantine: (Int) -> Void = { _ in }

    private let options: Options
    private let post: @Sendable (@escaping @Sendable () -> Void) -> Void
    private let door: SchedulerDoor
    private var running: (thread: StoreThread, handle: pthread_t)?
    /// Who waits for what is asked of the thread, in order.
    private var waiting: [Completion] = []

    /// Who asked while the store was not open.
    private var refused: [Completion] = []

    /// - Parameter post: runs work on the scheduler soon; it is called from the store's thread, and on the scheduler.
    public init(options: Options, post: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
        self.options = options
        self.post = post
        door = SchedulerDoor()
        door.store = self
    }

    deinit {
        guard let running else { return }
        running.thread.put(.close)
        pthread_detach(running.handle)
    }

    public func open() throws(StoreFault) -> StoredState {
        guard running == nil else { throw .failed("the store is open already") }
        let thread = StoreThread(options: options) { [door, post] in
            post { door.store?.takeOutcomes() }
        }
        let (handle, state) = try thread.start()
        running = (thread, handle)
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
        guard let running, !isClosing else { return refuse(completion) }
        waiting.append(completion)
        running.thread.put(job)
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
        for outcome in running?.thread.takeOutcomes() ?? [] { deliver(outcome) }
    }

    private func deliver(_ outcome: StoreOutcome) {
        if case .quarantined(let events) = outcome { return onQuarantine(events) }
        if case .closed = outcome { joinThread() }
        waiting.removeFirst().take(outcome)
    }

    /// The thread has done all that it had to: this does not wait.
    private func joinThread() {
        guard let handle = running?.handle else { return }
        pthread_join(handle, nil)
        running = nil
    }
}

/// Someone who waits for an outcome.
private enum Completion {
    case done((StoreFault?) -> Void)
    case read((Result<Chunk?, StoreFault>) -> Void)
    case letters((Result<LetterPage, StoreFault>) -> Void)
    case purged((Result<Int, StoreFault>) -> Void)
    case closed(() -> Void)

    func take(_ outcome: StoreOutcome) {
        switch (self, outcome) {
        case (.done(let then), .done(let fault)): then(fault)
        case (.read(let then), .read(let result)): then(result)
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
    weak var store: SQLiteEventStore?
}

/// The thread that owns the database. Jobs go in and outcomes come out, both in order; only values cross.
private final class StoreThread: Sendable {
    private let options: SQLiteEventStore.Options
    /// Tells the scheduler that there are outcomes to take. Called once for many.
    private let ring: @Sendable () -> Void
    private let opening = Mailbox<Result<StoredState, StoreFault>>()
    private let jobs = Mailbox<StoreJob>()
    private let outcomes = Mailbox<StoreOutcome>()

    init(options: SQLiteEventStore.Options, ring: @escaping @Sendable () -> Void) {
        self.options = options
        self.ring = ring
    }

    /// Starts the thread and waits until it has opened the database. After a fault there is no thread.
    func start() throws(StoreFault) -> (thread: pthread_t, state: StoredState) {
        var thread = pthread_t()
        // The thread holds this object alive until it ends: it takes over what is retained here.
        let context = Unmanaged.passRetained(self)
        let code = pthread_create(&thread, nil, { StoreThread.run($0) }, context.toOpaque())
        guard code == 0 else {
            context.release()
            throw .failed("cannot start the store's thread: \(String(cString: strerror(code)))")
        }
        switch opening.takeAll(waiting: true)[0] {
        case .success(let state): return (thread, state)
        case .failure(let fault):
            pthread_join(thread, nil)
            throw fault
        }
    }

    func put(_ job: StoreJob) {
        jobs.put([job])
    }

    func takeOutcomes() -> [StoreOutcome] {
        outcomes.takeAll(waiting: false)
    }

    private static func run(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        guard let context else { return nil }
        Unmanaged<StoreThread>.fromOpaque(context).takeRetainedValue().run()
        return nil
    }

    private func run() {
        guard openAndWork() else { return }
        // The database is closed and the directory free now: what `openAndWork` owned is gone.
        report([.closed])
    }

    private func openAndWork() -> Bool {
        do throws(StoreFault) {
            let (database, state) = try StoreDatabase.open(options)
            opening.put([.success(state)])
            report(database.takeQuarantined())
            work(database)
            return true
        } catch {
            opening.put([.failure(error)])
            return false
        }
    }

    private func work(_ database: StoreDatabase) {
        var isOpen = true
        while isOpen {
            let turn = jobs.takeAll(waiting: !database.hasChores)
            isOpen = !turn.contains { if case .close = $0 { true } else { false } }
            database.carryOut(turn, report: report)
            report(database.takeQuarantined())
            if isOpen { database.doChores() }
        }
        database.finish()
    }

    private func report(_ news: [StoreOutcome]) {
        if !news.isEmpty, outcomes.put(news) { ring() }
    }
}

/// What the scheduler asks of the store's thread.
enum StoreJob: Sendable {
    case append(AppendGroup)
    case write([StoreChange])
    case read(after: SequenceNumber)
    case readLetters(LetterQuery)
    case purgeLetters(LetterQuery)
    case readAged(AgedStretch)
    case close
}

/// What the store's thread tells the scheduler. But for `quarantined`, there is one for each job, in the jobs' order.
enum StoreOutcome: Sendable {
    /// An append or a write is done, or not.
    case done(StoreFault?)
    case read(Result<Chunk?, StoreFault>)
    case letters(Result<LetterPage, StoreFault>)
    /// So many dead letters are deleted, or none.
    case purged(Result<Int, StoreFault>)
    /// So many events were damaged and are put aside (Behaviour Q8).
    case quarantined(events: Int)
    case closed
}

/// What one thread takes out, all at once, others put in.
final class Mailbox<Element: Sendable>: Sendable {
    private let elements = Guarded<[Element]>([])

    /// Puts elements in, in order.
    /// - Returns: whether there were none before.
    @discardableResult
    func put(_ new: [Element]) -> Bool {
        elements.withLock { elements in
            defer { elements += new }
            return elements.isEmpty
        }
    }

    /// Takes all out, waiting for the first if asked to.
    func takeAll(waiting: Bool) -> [Element] {
        let isWanted = { (elements: [Element]) in !waiting || !elements.isEmpty }
        return elements.withLock(when: isWanted) { elements in
            defer { elements = [] }
            return elements
        }
    }
}
