import HeadgateCore
import HeadgateTransport

/// An event store in an SQLite database, one row an event, for people who want to open their backlog with any SQLite tool
/// (Behaviour Q1).
///
/// It lives on the scheduler. A thread of its own does all work with the database. Appends and writes that arrive while
/// the thread works are committed together.
public final class SQLiteEventStore: EventStore {
    public typealias Options = SQLiteOptions

    public let kind = "sqlite"

    @exclusivity(unchecked) public private(set) var diskBytes = 0
    @exclusivity(unchecked) public private(set) var deadLetterTally = Tally.zero
    public var syncing: Histogram { syncTimes.withLock { $0 } }
    @exclusivity(unchecked) public var onDeadLettersDropped: ([DispatcherNumber: Int]) -> Void = { _ in }
    /// Called on the scheduler with the number of events that were found damaged and left out (Behaviour Q8).
    @exclusivity(unchecked) public var onQuarantine: (Int) -> Void = { _ in }

    private let options: Options
    private let post: @Sendable (@escaping @Sendable () -> Void) -> Void
    private let syncTimes = Guarded(Histogram(.seconds))
    private let reference = StoreReference()
    /// The executor of jobs; nil while the store is not open.
    @exclusivity(unchecked) private var worker: SQLiteWorker?

    /// - Parameter post: runs work on the scheduler soon. It is called on the store's thread, and on the scheduler.
    public init(options: Options, post: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
        (self.options, self.post) = (options, post)
        reference.store = self
    }

    deinit {
        worker?.put(.close {})
    }

    public func open() throws(StoreFault) -> StoredState {
        guard worker == nil else { throw .failed("the store is already open") }
        let (tables, state) = try SQLiteOpening(options: options).run()
        tables.noteSync = { [syncTimes] nanoseconds in syncTimes.withLock { $0.record(nanoseconds) } }
        deadLetterTally = state.deadLetterTally
        let worker = SQLiteWorker(tables) { [post, reference] answers in
            post { reference.store?.deliver(answers) ?? answers.answerWithoutStore() }
        }
        try worker.start()
        self.worker = worker
        return state
    }

    public func append(_ group: AppendGroup, then: @escaping (StoreFault?) -> Void) {
        ask(.change(.append(group), then)) { then($0) }
    }

    public func write(_ changes: [StoreChange], then: @escaping (StoreFault?) -> Void) {
        ask(.change(.write(changes), then)) { then($0) }
    }

    public func read(
        after sequenceNumber: SequenceNumber, then: @escaping (Result<Chunk?, StoreFault>) -> Void
    ) {
        ask(then) { $0.read(after: sequenceNumber) }
    }

    public func readAged(_ range: AgedRange, then: @escaping (Result<Chunk?, StoreFault>) -> Void) {
        ask(then) { $0.readAged(range) }
    }

    public func scan(_ scan: EventScan, then: @escaping (Result<EventScan, StoreFault>) -> Void) {
        ask(then) { $0.take(scan) }
    }

    public func readDeadLetters(
        _ query: DeadLetterQuery, then: @escaping (Result<StoredDeadLetterPage, StoreFault>) -> Void
    ) {
        ask(then) { $0.readDeadLetters(query) }
    }

    public func purgeDeadLetters(_ query: DeadLetterQuery, then: @escaping (Result<Int, StoreFault>) -> Void) {
        ask(then) { $0.purgeDeadLetters(query) }
    }

    public func close(then: @escaping () -> Void) {
        ask(.close(then)) { _ in then() }
        worker = nil
    }

    // MARK: Requests and answers

    private func ask<Value>(
        _ then: @escaping (Result<Value, StoreFault>) -> Void,
        _ work: @escaping (SQLiteTables) -> Result<Value, StoreFault>
    ) {
        let job = SQLiteJob.ask { tables in
            let result = work(tables)
            return { then(result) }
        }
        ask(job) { then(.failure($0)) }
    }

    /// - Parameter refuse: answers if the store is not open.
    private func ask(_ job: SQLiteJob, orRefuse refuse: @escaping (StoreFault) -> Void) {
        if let worker { return worker.put(job) }
        let answers = SQLiteAnswers { refuse(.failed("the event store is not open")) }
        post { answers.answerWithoutStore() }
    }

    private func deliver(_ answers: SQLiteAnswers) {
        (deadLetterTally, diskBytes) = (answers.deadLetterTally, answers.diskBytes)
        if answers.lost > 0 { onQuarantine(answers.lost) }
        if !answers.droppedDeadLetters.isEmpty { onDeadLettersDropped(answers.droppedDeadLetters) }
        for answer in answers.list { answer() }
    }
}

/// The reference from other threads to the store.
///
/// `@unchecked`: any thread passes it on, and only work on the scheduler, where the store lives, uses it.
private final class StoreReference: @unchecked Sendable {
    @exclusivity(unchecked) weak var store: SQLiteEventStore?
}
