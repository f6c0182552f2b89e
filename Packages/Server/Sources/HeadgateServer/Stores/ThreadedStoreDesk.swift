import Glibc
import HeadgateCore

/// A thread of the store's own, from its opening to its closing. Appends and changes that are waiting when it gets free are
/// committed together.
final class ThreadedStoreDesk: StoreDesk {
    private let options: DiskEventStore.Options
    private var running: (thread: StoreThread, handle: pthread_t)?

    init(options: DiskEventStore.Options) {
        self.options = options
    }

    deinit {
        guard let running else { return }
        running.thread.put(.close)
        pthread_detach(running.handle)
    }

    func open(ring: @escaping @Sendable () -> Void) throws(StoreFault) -> StoreContent {
        let thread = StoreThread(options: options, ring: ring)
        let (handle, content) = try thread.start()
        running = (thread, handle)
        return content
    }

    func put(_ job: StoreJob) {
        running?.thread.put(job)
    }

    func takeOutcomes() -> [StoreOutcome] {
        let outcomes = running?.thread.takeOutcomes() ?? []
        if case .closed? = outcomes.last { joinThread() }
        return outcomes
    }

    /// The thread has done all that it had to: this does not wait.
    private func joinThread() {
        guard let handle = running?.handle else { return }
        pthread_join(handle, nil)
        running = nil
    }
}

/// The thread that owns the files. Jobs go in and outcomes come out, both in order; only values cross.
private final class StoreThread: Sendable {
    private let options: DiskEventStore.Options
    /// Tells the scheduler that there are outcomes to take. Called once for many.
    private let ring: @Sendable () -> Void
    private let opening = Mailbox<Result<StoreContent, StoreFault>>()
    private let jobs = Mailbox<StoreJob>()
    private let outcomes = Mailbox<StoreOutcome>()

    init(options: DiskEventStore.Options, ring: @escaping @Sendable () -> Void) {
        self.options = options
        self.ring = ring
    }

    /// Starts the thread and waits until it has opened the store. After a fault there is no thread.
    func start() throws(StoreFault) -> (thread: pthread_t, content: StoreContent) {
        var thread = pthread_t()
        // The thread holds this object alive until it ends: it takes over what is retained here.
        let context = Unmanaged.passRetained(self)
        let code = pthread_create(&thread, nil, { StoreThread.run($0) }, context.toOpaque())
        guard code == 0 else {
            context.release()
            throw .failed("cannot start the store's thread: \(String(cString: strerror(code)))")
        }
        switch opening.takeAll(waiting: true)[0] {
        case .success(let content): return (thread, content)
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
        // The store is closed and the directory free now: what `openAndWork` owned is gone.
        report([.closed])
    }

    private func openAndWork() -> Bool {
        do throws(StoreFault) {
            let opened = try options.open()
            let engine = opened.engine
            opening.put([.success(opened.content)])
            opened.report(report)
            while engine.turn(jobs.takeAll(waiting: !engine.hasChores), report: report) {}
            return true
        } catch {
            opening.put([.failure(error)])
            return false
        }
    }

    private func report(_ news: [StoreOutcome]) {
        if !news.isEmpty, outcomes.put(news) { ring() }
    }
}
