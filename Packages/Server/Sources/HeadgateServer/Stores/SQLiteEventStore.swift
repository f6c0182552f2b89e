import Glibc
import HeadgateCore

/// The event store that is used unless a program brings another: one SQLite database in a directory of its own
/// (Behaviour Q1).
///
/// It lives on the worker. The database has a thread of its own, so that a disk that takes its time holds up nobody but
/// those who wait for it; appends and changes that are waiting when that thread gets free are committed together.
public final class SQLiteEventStore: EventStore {
    public let kind = "sqlite"

    /// Called on the worker with the number of events that were found damaged and put aside (Behaviour Q8).
    public var onQuarantine: (Int) -> Void = { _ in }

    private let options: Options
    private let post: @Sendable (@escaping @Sendable () -> Void) -> Void
    private let door: WorkerDoor
    private var running: (thread: StoreThread, handle: pthread_t)?
    /// Who waits for what is asked of the thread, in order.
    private var waiting: [Completion] = []

    /// Who asked while the store was not open.
    private var refused: [Completion] = []

    /// - Parameter post: runs work on the worker soon; it is called from the store's thread, and on the worker.
    public init(options: Options, post: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
        self.options = options
        self.post = post
        door = WorkerDoor()
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
/// `@unchecked`: passed on by any thread, but looked into only by work that was posted to the worker, where the store
/// lives.
private final class WorkerDoor: @unchecked Sendable {
    weak var store: SQLiteEventStore?
}
