import Glibc
import HeadgateCore
import HeadgateTransport
import Synchronization

/// The two threads that work for a store, of which one at a time has its engine: a thread of the store's own, and the event loop's
/// between two turns, when there is little to do and the disk is quick (Behaviour Q5: what is alone waits for no company, and for
/// nobody's waking up). Clients that are committed together are expected to come together again (``CommitCompany``).
///
/// A disk may take its time all of a sudden. Then the store's thread takes the loop over, and the one that waits for the disk is
/// the store's thread from then on.
///
/// Jobs go in and outcomes come out, both in order.
///
/// What each commit touches is not checked for exclusive access at run time: nothing that is called with it knows this object.
// Unchecked: `engine` and `pace` are touched by who has the engine, and what belongs to the loop on the loop only.
final class StoreWorkers: StoreDesk, @unchecked Sendable {
    private let options: DiskEventStore.Options
    private let loop: EventLoop?
    /// Tells the scheduler that there is news to take. Called once for many.
    private let ring: @Sendable () -> Void
    private let opening = Mailbox<Result<StoredState, StoreFault>>()
    private let news = Mailbox<StoreNews>()
    private let queue = Guarded(JobQueue())
    private let holder = Atomic(Holder.thread)
    /// Whether the store's thread looks now and then if the loop's is back.
    private let isWatching = Atomic(false)
    /// Whether something waits that the store's thread has left to the loop. The queue's lock is not for looking: who waits there is woken.
    private let isLeft = Atomic(false)
    /// How often the loop's thread has had the engine.
    private let turnsOfLoop = Atomic(0)

    @exclusivity(unchecked) private var engine: LogEngine?
    @exclusivity(unchecked) private var pace = DiskPace()
    /// Whether the engine writes without waiting for the disk, mostly. Told once, when it is opened.
    @exclusivity(unchecked) private var writesAtOnce = false

    /// What was asked for in this turn of the loop.
    @exclusivity(unchecked) private var asked: [StoreJob] = []
    /// What of it the loop's thread does between two turns, or could not do there. It is whose the engine is.
    @exclusivity(unchecked) private var inPlace: [StoreJob] = []
    /// How many events were in that, and what came of it.
    @exclusivity(unchecked) private var lastInPlace: (events: Int, answer: DiskAnswer)?
    /// For whom what was asked for waits.
    @exclusivity(unchecked) private var company = CommitCompany()
    /// Takes news, on the loop.
    @exclusivity(unchecked) var onNews: () -> Void = {}

    /// When the disk had answered, and after how long.
    private typealias DiskAnswer = (moment: ContinuousClock.Instant, duration: Duration)

    /// Who has the engine.
    private enum Holder: UInt8, AtomicRepresentable {
        /// Nobody: there is nothing to do, and nothing waits.
        case nobody
        /// The store's thread, or it is about to.
        case thread
        /// The loop's, between two turns.
        case loop
    }

    /// What waits for the store's thread, or is left to the loop by it.
    private struct JobQueue {
        var jobs: [StoreJob] = []
        /// Whether the loop's thread could not do some of them.
        var isRefused = false
        /// It is to look after the loop, or does.
        var isCalled = false

        mutating func add(_ new: [StoreJob], isRefused: Bool) {
            if jobs.isEmpty { jobs = new } else { jobs += new }
            if isRefused { self.isRefused = true }
        }

        mutating func takeAll() -> [StoreJob] {
            defer { (jobs, isRefused) = ([], false) }
            return jobs
        }
    }

    /// With more bytes of events the store's thread is better: the loop takes in the next meanwhile. Where nobody waits for the disk it takes
    /// more to be worth a hand-over.
    private var mostBytesInPlace: Int { writesAtOnce ? 128 << 10 : 16 << 10 }
    /// So long the loop's thread may be gone.
    private static let patience = Duration.milliseconds(5)
    private static let millisecondsBetweenLooks = 5
    /// After so many looks at a loop that asks for nothing the store's thread sleeps.
    private static let looksInVain = 100

    init(options: DiskEventStore.Options, loop: EventLoop?, ring: @escaping @Sendable () -> Void) {
        self.options = options
        self.loop = loop
        self.ring = ring
    }

    func takeNews() -> [StoreNews] {
        if isSomethingLeft { loop?.betweenTurns(self) }
        return news.takeAll(waiting: false)
    }

    // MARK: Asking

    /// Asks for something, on the scheduler.
    func put(_ job: StoreJob) {
        guard let loop, loop.isCurrent else { return handOver([job]) }
        asked.append(job)
        guard let bytes = job.bytesInPlace, bytes <= mostBytesInPlace else {
            // The store's thread does it in any case, while the loop goes on with its turn.
            return handOver(takeAsked())
        }
        if asked.count == 1 { loop.betweenTurns(self) }
    }

    private func takeAsked() -> [StoreJob] {
        defer { asked = [] }
        return asked
    }

    /// Gives jobs to the store's thread, which has the engine until they are done.
    /// - Parameter isRefused: whether the loop's thread could not do them.
    private func handOver(_ jobs: [StoreJob], isRefused: Bool = false) {
        queue.withLock { queue in
            holder.store(.thread, ordering: .relaxed)
            queue.add(jobs, isRefused: isRefused)
        }
    }

    /// Takes the engine for the loop's thread, with what was left to that, unless the other has it or is the better one for these jobs.
    private func takeEngine() -> Bool {
        guard holder.compareExchange(expected: .nobody, desired: .loop, ordering: .acquiringAndReleasing).exchanged
        else { return false }
        if isSomethingLeft { takeLeft() }
        // Only who has the engine may ask. Where the disk is slow it is handed over with the jobs.
        return isForLoop(asked)
    }

    /// Whether the loop's thread is the better one for jobs. Asked by whoever has the engine.
    private func isForLoop(_ jobs: [StoreJob]) -> Bool {
        pace.isQuick && jobs.bytesInPlace.map { $0 <= mostBytesInPlace } == true
    }

    /// Takes what the store's thread has left to the loop, which was asked for earlier.
    private func takeLeft() {
        isLeft.store(false, ordering: .relaxed)
        asked.insert(contentsOf: queue.withLock { $0.takeAll() }, at: 0)
    }

    /// A Boolean value that says whether the store's thread has left something to the loop.
    var isSomethingLeft: Bool { isLeft.load(ordering: .relaxed) }

    /// Does what was asked for, as whoever has the engine, and sees how long the disk takes over it.
    /// - Returns: nil where nothing was to be written.
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

    /// Starts it and waits until it has opened the store. After a fault there is none.
    func start() throws(StoreFault) -> StoredState {
        var thread = pthread_t()
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        // The thread holds this object alive until it ends: it takes over what is retained here.
        let context = Unmanaged.passRetained(self)
        let code = pthread_create(&thread, &attributes, StoreWorkers.main, context.toOpaque())
        guard code == 0 else {
            context.release()
            throw .failed("cannot start the store's thread: \(String(cString: strerror(code)))")
        }
        return try opening.takeAll(waiting: true)[0].get()
    }

    private static let main: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { context in
        // `start` passes it, retained.
        let workers = Unmanaged<StoreWorkers>.fromOpaque(context!).takeRetainedValue()
        guard workers.open() else { return nil }
        // In the other's place it runs the loop, until the other changes back or the loop ends.
        while workers.work(), workers.loop?.runTakenOver() == true {}
        return nil
    }

    private func open() -> Bool {
        do throws(StoreFault) {
            let opened = try options.open()
            engine = opened.engine
            writesAtOnce = opened.engine.writesAtOnce
            opening.put([.success(opened.state)])
            opened.engine.reportNews(report)
            return true
        } catch {
            opening.put([.failure(error)])
            return false
        }
    }

    /// Tells the scheduler, from the store's thread.
    private func report(_ new: StoreNews) {
        if news.put([new]) { ring() }
    }

    /// Works for the store, as the one that has its engine.
    /// - Returns: whether the thread has taken the loop over; otherwise the store is closed.
    private func work() -> Bool {
        claimEngine()
        // What could not be done in place, where the threads have changed places over it.
        carryOut(takeInPlace(), report)
        var closings: [() -> Void] = []
        while let engine {
            let hasChores = engine.hasChores
            let jobs = takeJobs(isDone: !hasChores)
            if jobs.isEmpty, !hasChores {
                guard !awaitEngine() else { return true }
                continue
            }
            carryOut(jobs, report)
            guard engine.endTurn(jobs, report: report) else {
                closings = jobs.closings
                break
            }
        }
        // The store is closed, and the directory is free when that is told: nobody holds the engine here any more.
        engine = nil
        report(StoreNews(answers: closings))
        return false
    }

    private func claimEngine() {
        queue.withLock { _ in holder.store(.thread, ordering: .relaxed) }
    }

    /// Takes what waits. Where nothing is left to do, and nothing waits but what is better done by the loop's thread, nobody has the engine from
    /// then on.
    private func takeJobs(isDone: Bool) -> [StoreJob] {
        let jobs = queue.withLock { queue -> [StoreJob] in
            let isOver = isDone && (queue.jobs.isEmpty || canLeave(queue))
            isLeft.store(isOver && !queue.jobs.isEmpty, ordering: .relaxed)
            guard isOver else { return queue.takeAll() }
            holder.store(.nobody, ordering: .releasing)
            return []
        }
        if isSomethingLeft { ring() }
        return jobs
    }

    private func canLeave(_ queue: JobQueue) -> Bool {
        loop != nil && writesAtOnce && !queue.isRefused && isForLoop(queue.jobs)
    }

    /// Waits until the engine is the thread's again, and looks after the loop meanwhile where that has it now and then.
    /// - Returns: whether the thread has taken the loop over.
    private func awaitEngine() -> Bool {
        while !queue.withLock(when: { $0.isCalled || threadHasEngine }, { _ in threadHasEngine }) {
            switch watch() {
            case .tookOver: return true
            case .hasEngine: return false
            case .nothing: continue
            }
        }
        return false
    }

    private enum Sight {
        case tookOver
        case hasEngine
        case nothing
    }

    /// Looks after the loop as long as its thread has the engine now and then.
    private func watch() -> Sight {
        var (seen, inVain) = (turns, 0)
        while inVain < StoreWorkers.looksInVain, let loop {
            let hasEngine = queue.withLock(
                when: { _ in threadHasEngine }, atMost: StoreWorkers.millisecondsBetweenLooks, { _ in threadHasEngine })
            if hasEngine { return .hasEngine }
            if loop.takeOver(ifGoneFor: StoreWorkers.patience) { return .tookOver }
            inVain = turns == seen ? inVain + 1 : 0
            seen = turns
        }
        stopWatching()
        // A turn that did not call yet is seen here.
        if turns != seen { call() }
        return .nothing
    }

    /// It is given to the thread with the queue locked, so that one who waits there is told.
    private var threadHasEngine: Bool { holder.load(ordering: .acquiring) == .thread }

    private var turns: Int { turnsOfLoop.load(ordering: .sequentiallyConsistent) }

    private func stopWatching() {
        queue.withLock { $0.isCalled = false }
        isWatching.store(false, ordering: .sequentiallyConsistent)
    }

    /// Has the store's thread look after the loop, unless it does.
    private func call() {
        guard !isWatching.exchange(true, ordering: .sequentiallyConsistent) else { return }
        queue.withLock { $0.isCalled = true }
    }
}

// MARK: - The loop's thread

extension StoreWorkers: LoopHelper {
    func turnEnded() -> (() -> Void)? {
        guard !waitsForCompany() else {
            // The loop looks what there is, and comes back at once.
            loop?.betweenTurns(self)
            return nil
        }
        guard !asked.isEmpty || isSomethingLeft else { return nil }
        guard takeEngine() else {
            handOver(takeAsked())
            return nil
        }
        // Somebody else may have done what was left.
        guard !asked.isEmpty else {
            giveBack()
            return nil
        }
        swap(&asked, &inPlace)
        turnsOfLoop.add(1, ordering: .sequentiallyConsistent)
        call()
        return { self.workInPlace() }
    }

    /// Whether what was asked for waits for more. Only what the loop's thread is to do itself: where the store's is at work, more comes
    /// meanwhile anyway.
    private func waitsForCompany() -> Bool {
        let (events, bytes) = asked.reduce((0, 0)) { ($0.0 + $1.events, $0.1 + ($1.bytesInPlace ?? 0)) }
        // It is told of each look, whatever comes of that.
        return company.waits(with: events, at: options.clock()) && bytes <= mostBytesInPlace
            && holder.load(ordering: .relaxed) == .nobody
    }

    private func workInPlace() {
        let events = inPlace.reduce(0) { $0 + $1.events }
        lastInPlace = carryOutInPlace().map { (events, $0) }
        engine?.reportNews { news.put([$0]) }
    }

    /// Does what is to be done in place, unless that takes too long: then it stays where it is.
    private func carryOutInPlace() -> DiskAnswer? {
        guard let engine, writesAtOnce else { return carryOut(takeInPlace()) { news.put([$0]) } }
        let start = options.clock()
        guard engine.carryOutAtOnce(inPlace, report: { news.put([$0]) }) else { return nil }
        inPlace.removeAll(keepingCapacity: true)
        return noteAnswer(since: start)
    }

    private func takeInPlace() -> [StoreJob] {
        defer { inPlace = [] }
        return inPlace
    }

    func workEnded(inPlace: Bool) {
        // Otherwise who has done it has the engine still, as the store's thread.
        if inPlace {
            noteCompany()
            giveBack()
        }
        onNews()
    }

    private func noteCompany() {
        if let (events, answer) = lastInPlace {
            company.committed(events, at: answer.moment, took: answer.duration)
        }
        if company.wantsLook { loop?.betweenTurns(self) }
    }

    /// What is left to do is for the store's thread, and what could not be done in place.
    private func giveBack() {
        if !inPlace.isEmpty { return handOver(takeInPlace(), isRefused: true) }
        if engine?.hasChores == true { claimEngine() } else { holder.store(.nobody, ordering: .releasing) }
    }

    func changePlaces() -> Bool { work() }
}

extension [StoreJob] {
    /// How many bytes they write; nil where they should not be done in the loop's place.
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
    /// How many events it brings.
    fileprivate var events: Int {
        guard case .append(let group, _) = self else { return 0 }
        return Int(group.chunk.lastSequenceNumber - group.chunk.firstSequenceNumber) + 1
    }

    /// How many bytes it writes; nil where it should not be done in the loop's place.
    fileprivate var bytesInPlace: Int? {
        switch self {
        case .append(let group, _): group.chunk.bytes.count
        case .write(let changes, _): 64 * changes.count
        case .ask, .close: nil
        }
    }
}
