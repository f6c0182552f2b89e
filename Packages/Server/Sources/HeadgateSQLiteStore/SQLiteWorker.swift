// swift-format-ignore-file: OnlyOneTrailingClosureArgument

import Glibc
import HeadgateCore
import HeadgateTransport

/// A job for the store's thread, with the closure that answers it.
///
/// `@unchecked`: the closure is called on the scheduler, where it comes from.
enum SQLiteJob: @unchecked Sendable {
    /// A change, which is committed together with neighbouring changes.
    case change(SQLiteChange, (StoreFault?) -> Void)
    /// A read or a deletion. It returns the closure that answers with the result.
    case ask((SQLiteTables) -> () -> Void)
    /// The last job.
    case close(() -> Void)
}

/// The answers and news of one turn of the store's thread.
///
/// `@unchecked`: the answers are called on the scheduler, where they come from.
struct SQLiteAnswers: @unchecked Sendable {
    var list: [() -> Void] = []
    var deadLetterTally = Tally.zero
    var diskBytes = 0
    /// The number of events that were found damaged.
    var lost = 0
    var droppedDeadLetters: [DispatcherNumber: Int] = [:]

    init(_ answer: @escaping () -> Void) { list = [answer] }

    init() {}

    /// Calls the answers after the store was released.
    func answerWithoutStore() {
        for answer in list { answer() }
    }
}

/// The store's thread, and the jobs that wait for it.
///
/// `@unchecked`: only the thread uses `tables` once it runs.
final class SQLiteWorker: @unchecked Sendable {
    private let jobs = Guarded<[SQLiteJob]>([])
    private var tables: SQLiteTables?
    private let report: (SQLiteAnswers) -> Void

    /// - Parameter report: posts answers to the scheduler.
    init(_ tables: SQLiteTables, report: @escaping (SQLiteAnswers) -> Void) {
        (self.tables, self.report) = (tables, report)
    }

    func put(_ job: SQLiteJob) { jobs.withLock { $0.append(job) } }

    /// Starts the thread, which ends with ``SQLiteJob/close(_:)``.
    func start() throws(StoreFault) {
        var (thread, attributes) = (pthread_t(), pthread_attr_t())
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        // The thread takes over the reference.
        let context = Unmanaged.passRetained(self)
        let code = pthread_create(&thread, &attributes, SQLiteWorker.main, context.toOpaque())
        guard code == 0 else {
            context.release()
            throw .failed("cannot start the store's thread: \(String(cString: strerror(code)))")
        }
    }

    private static let main: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { context in
        // `start` passes a retained reference.
        let worker = Unmanaged<SQLiteWorker>.fromOpaque(context!).takeRetainedValue()
        while let tables = worker.tables {
            worker.turn(worker.jobs.takeAll(waiting: !tables.hasBackgroundWork), tables)
        }
        return nil
    }

    /// Carries out jobs in order, and then a step of the background work.
    private func turn(_ jobs: [SQLiteJob], _ tables: SQLiteTables) {
        var answers = SQLiteAnswers()
        var changes: [(change: SQLiteChange, then: (StoreFault?) -> Void)] = []
        for job in jobs {
            if case .change(let change, let then) = job {
                changes.append((change, then))
                continue
            }
            SQLiteWorker.commit(&changes, tables, &answers)
            switch job {
            case .change: break
            case .ask(let work): answers.list.append(work(tables))
            case .close(let then):
                // The file is closed before the close is reported.
                self.tables = nil
                tables.finish()
                answers.list.append(then)
            }
        }
        SQLiteWorker.commit(&changes, tables, &answers)
        if !jobs.isEmpty { tables.resumeBackgroundWork() }
        tables.doBackgroundWork()
        (answers.deadLetterTally, answers.diskBytes) = (tables.deadLetterTally, tables.diskBytes)
        (answers.lost, answers.droppedDeadLetters) = tables.takeLosses()
        if !jobs.isEmpty { report(answers) }
    }

    private static func commit(
        _ changes: inout [(change: SQLiteChange, then: (StoreFault?) -> Void)], _ tables: SQLiteTables,
        _ answers: inout SQLiteAnswers
    ) {
        guard !changes.isEmpty else { return }
        let faults = tables.commit(changes.map(\.change))
        for ((_, then), fault) in zip(changes, faults) { answers.list.append { then(fault) } }
        changes = []
    }
}
