import Glibc
import HeadgateCore

/// The thread that owns the database. Jobs go in and outcomes come out, both in order; only values cross.
final class StoreThread: Sendable {
    private let options: SQLiteEventStore.Options
    /// Tells the worker that there are outcomes to take. Called once for many.
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
