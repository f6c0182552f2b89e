import Glibc
import HeadgateCore
import HeadgateTransport

/// The two threads that work for a store: a thread of the store's own, and the event loop's thread between two turns. One of
/// them at a time has the engine (``EngineOwnership``).
///
/// The loop's thread commits if there is little to write and the disk is quick (Behaviour Q5). That saves two hand-overs
/// between threads. If the disk does not answer in time, the store's thread takes the loop over, and the thread that waits
/// for the disk is the store's thread from then on.
///
/// Jobs are carried out and answered in the order of their requests.
///
/// Accesses in the path of a commit are not checked for exclusivity at run time: no callee knows this object.
// Unchecked: the engine's owner uses `engine`, `pace` and `inPlace`, and the loop's thread uses the rest. The store is opened
// before there is a second thread.
final class StoreWorkers: StoreExecutor, @unchecked Sendable {
    private let options: StoreOptions
    private let loop: EventLoop?
    /// Tells the scheduler that there is news to take, or that jobs are left to the loop. One call may stand for many.
    private let ring: @Sendable () -> Void
    /// The news that the scheduler has not taken yet.
    private let news = Guarded<[StoreNews]>([])
    private let ownership = Guarded(EngineOwnership<StoreJob>(mostIdleIntervals: StoreWorkers.mostIdleIntervals))
    /// True if the store's thread has been woken and has not noticed yet.
    private let isWoken = Guarded(false)

    /// The engine; nil before it is open and after it is closed.
    @exclusivity(unchecked) private var engine: LogEngine?
    @exclusivity(unchecked) private var pace = DiskPace()
    /// True if most commits of the engine do not wait for the disk. Constant once the engine is open.
    @exclusivity(unchecked) private var writesAtOnce = false
    /// The jobs that the loop's thread carries out between two turns, or could not carry out there.
    @exclusivity(unchecked) private var inPlace: [StoreJob] = []
    /// The number of events in the loop's last commit, and the disk's answer.
    @exclusivity(unchecked) private var lastInPlace: (events: Int, answer: DiskAnswer)?

    /// The jobs that have been requested in this turn of the loop.
    @exclusivity(unchecked) private var requested: [StoreJob] = []
    @exclusivity(unchecked) private var commitDelay = GroupCommitDelay()
    /// Takes news, on the loop.
    @exclusivity(unchecked) var onNews: () -> Void = {}

    /// The time at which the disk had answered, and the time that it took.
    private typealias DiskAnswer = (moment: ContinuousClock.Instant, duration: Duration)

    /// The most bytes that the loop's thread commits. The store's thread commits more bytes, while the loop reads its
    /// sockets. If commits do not wait for the disk, a hand-over to the store's thread is worthwhile only for more
    /// bytes.
    private var mostBytesInPlace: Int { writesAtOnce ? 128 << 10 : 16 << 10 }
    /// The time after which the store's thread takes the loop over.
    private static let timeLimit = Duration.milliseconds(5)
    /// The interval in which the store's thread watches the loop.
    private static let watchMilliseconds = 5
    private static let mostIdleIntervals = 100

    init(options: StoreOptions, loop: EventLoop?, ring: @escaping @Sendable () -> Void) {
        self.options = options
        self.loop = loop
        self.ring = ring
    }

    func takeNews() -> [StoreNews] {
        if hasJobsForLoop { loop?.betweenTurns(self) }
        return news.takeAll()
    }

    /// True if the store's thread has left jobs to the loop.
    var hasJobsForLoop: Bool { ownership.withLock { $0.hasJobsForLoop } }

    // MARK: Requests

    /// Requests a job, on the scheduler.
    func put(_ job: StoreJob) {
        guard let loop, loop.isCurrent else {
            var jobs = [job]
            return passOn(&jobs)
        }
        requested.append(job)
        // The store's thread begins with large jobs at once, while the loop continues with its turn.
        guard let bytes = job.bytesInPlace, bytes <= mostBytesInPlace else { return passOn(&requested) }
        if requested.count == 1 { loop.betweenTurns(self) }
    }

    /// Gives jobs to the store's thread.
    private func passOn(_ jobs: inout [StoreJob]) {
        perform(ownership.withLock { $0.requested(&jobs) })
    }

    private func perform(_ orders: EngineOwnership<StoreJob>.LoopOrders) {
        if orders.wakesStoreThread { isWoken.withLock { $0 = true } }
    }

    /// Returns true if the loop's thread should carry out the jobs. For the engine's owner only, and under the lock while
    /// no thread has the engine.
    private func isForLoop(_ jobs: [StoreJob]) -> Bool {
        pace.isQuick && jobs.bytesInPlace.map { $0 <= mostBytesInPlace } == true
    }

    // MARK: The engine's owner

    /// Carries out jobs, and measures the disk.
    /// - Returns: nil if there was nothing to write.
    @discardableResult
    private func carryOut(_ jobs: [StoreJob], _ report: (StoreNews) -> Void) -> DiskAnswer? {
        guard let engine, !jobs.isEmpty else { return nil }
        let start = options.clock()
        engine.carryOut(jobs, report: report)
        return jobs.contains(where: \.isChange) ? noteAnswer(since: start) : nil
    }

    private func noteAnswer(since start: ContinuousClock.Instant) -> DiskAnswer {
        let end = options.clock()
        pace.answered(after: start.duration(to: end))
        return (end, start.duration(to: end))
    }

    // MARK: The store's thread

    /// Opens the store, and starts the store's thread. After a fault there is no thread.
    func start() throws(StoreFault) -> StoredState {
        let opened = try options.open()
        var thread = pthread_t()
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        (engine, writesAtOnce) = (opened.engine, opened.engine.writesAtOnce)
        // The thread takes over this reference, and releases it when it ends.
        let context = Unmanaged.passRetained(self)
        let code = pthread_create(&thread, &attributes, StoreWorkers.main, context.toOpaque())
        guard code == 0 else {
            engine = nil
            context.release()
            throw .failed("cannot start the store's thread: \(String(cString: strerror(code)))")
        }
        return opened.state
    }

    private static let main: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { context in
        // `start` passes a retained reference.
        let workers = Unmanaged<StoreWorkers>.fromOpaque(context!).takeRetainedValue()
        workers.engine?.reportNews(workers.report)
        if workers.work() { workers.loop?.runTakenOver() }
        return nil
    }

    /// Reports news to the scheduler, on the store's thread.
    private func report(_ new: StoreNews) {
        if note(new) == 1 { ring() }
    }

    /// Keeps news until the scheduler takes them.
    /// - Returns: their number.
    @discardableResult
    private func note(_ new: StoreNews) -> Int {
        news.withLock {
            $0.append(new)
            return $0.count
        }
    }

    private func work() -> Bool { work(check()) }

    /// Does the work of the store's thread, beginning with an order.
    /// - Returns: true if the thread has taken the loop over; false if the store is closed.
    private func work(_ first: EngineOwnership<StoreJob>.StoreThreadOrder) -> Bool {
        var order = first
        while true {
            switch order {
            case .carryOut(let jobs):
                guard let next = carryOutTurn(jobs) else { return false }
                order = next
                continue
            case .callLoop: ring()
            case .sleep: takeWakeUp()
            case .watch:
                takeWakeUp(within: StoreWorkers.watchMilliseconds)
                if loop?.takeOver(ifGoneFor: StoreWorkers.timeLimit) == true { return true }
            }
            order = check()
        }
    }

    /// Waits until this thread is woken.
    private func takeWakeUp() {
        isWoken.withLock(when: { $0 }, { $0 = false })
    }

    private func takeWakeUp(within milliseconds: Int) {
        isWoken.withLock(when: { $0 }, atMost: milliseconds, { $0 = false })
    }

    private func check() -> EngineOwnership<StoreJob>.StoreThreadOrder { ownership.withLock { $0.checked() } }

    /// Carries out jobs and some background work.
    /// - Returns: the next order; nil if the store is closed.
    private func carryOutTurn(_ jobs: [StoreJob]) -> EngineOwnership<StoreJob>.StoreThreadOrder? {
        carryOut(jobs, report)
        guard let engine, engine.endTurn(jobs, report: report) else {
            close(jobs.closings)
            return nil
        }
        let canLeave = loop != nil && writesAtOnce
        return ownership.withLock {
            $0.storeThreadEnded(hasBackgroundWork: engine.hasBackgroundWork) { canLeave && isForLoop($0) }
        }
    }

    /// Releases the engine, and with it the data directory, before the closings are answered.
    private func close(_ closings: [() -> Void]) {
        engine = nil
        ownership.withLock { $0.closed() }
        report(StoreNews(answers: closings))
    }
}

// MARK: - The loop's thread

extension StoreWorkers: LoopHelper {
    func turnEnded() -> (() -> Void)? {
        guard !isDelayed() else {
            // The loop reads what has arrived, and calls again at once.
            loop?.betweenTurns(self)
            return nil
        }
        let orders = ownership.withLock { $0.turnEnded(&requested) { isForLoop($0) } }
        perform(orders)
        guard orders.carriesOut else { return nil }
        swap(&requested, &inPlace)
        return { self.workInPlace() }
    }

    /// Returns true if the requested jobs wait for more. If the store's thread is at work, more jobs arrive meanwhile anyway.
    private func isDelayed() -> Bool {
        let (events, bytes) = requested.reduce((0, 0)) { ($0.0 + $1.events, $0.1 + ($1.bytesInPlace ?? 0)) }
        // `delays` is called at the end of each turn, because it counts turns and events, even if its result is not
        // used.
        return commitDelay.delays(events, at: options.clock()) && bytes <= mostBytesInPlace
            && ownership.withLock { $0.owner == .noThread }
    }

    private func workInPlace() {
        let events = inPlace.reduce(0) { $0 + $1.events }
        lastInPlace = carryOutInPlace().map { (events, $0) }
        engine?.reportNews { note($0) }
    }

    /// Carries out the jobs in place. Jobs that need more than a write stay there for the store's thread.
    private func carryOutInPlace() -> DiskAnswer? {
        guard let engine, writesAtOnce else {
            defer { inPlace = [] }
            return carryOut(inPlace) { note($0) }
        }
        let start = options.clock()
        guard engine.carryOutAtOnce(inPlace, report: { note($0) }) else { return nil }
        inPlace.removeAll(keepingCapacity: true)
        return noteAnswer(since: start)
    }

    func workEnded(inPlace: Bool) {
        // After a takeover the former thread of the loop keeps the engine, as the store's thread.
        if inPlace {
            noteCommit()
            let hasBackgroundWork = engine?.hasBackgroundWork == true
            perform(ownership.withLock { $0.loopEnded(undone: &self.inPlace, hasBackgroundWork: hasBackgroundWork) })
        }
        onNews()
    }

    private func noteCommit() {
        if let (events, answer) = lastInPlace {
            commitDelay.committed(events, at: answer.moment, took: answer.duration)
        }
        if commitDelay.wantsTurn { loop?.betweenTurns(self) }
    }

    func exchangeRoles() -> Bool { work(ownership.withLock { $0.rolesExchanged(undone: &inPlace) }) }
}

extension [StoreJob] {
    /// The bytes that the jobs write; nil if the loop's thread must not carry them out.
    fileprivate var bytesInPlace: Int? {
        var bytes = 0
        for job in self {
            guard let weight = job.bytesInPlace else { return nil }
            bytes += weight
        }
        return bytes
    }
}

extension StoreJob {
    /// The number of events that the job appends.
    fileprivate var events: Int {
        guard case .append(let group, _) = self else { return 0 }
        return Int(group.chunk.lastSequenceNumber - group.chunk.firstSequenceNumber) + 1
    }

    /// The bytes that the job writes; nil if the loop's thread must not carry it out.
    fileprivate var bytesInPlace: Int? {
        switch self {
        case .append(let group, _): group.chunk.bytes.count
        case .write(let changes, _): 64 * changes.count
        case .ask, .close: nil
        }
    }
}
