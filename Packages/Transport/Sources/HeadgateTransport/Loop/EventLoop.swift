import CUV
import Glibc
import HeadgateData
import Synchronization

/// A libuv loop, which is the executor of one actor: everything that lives on it is called by one thread.
///
/// It belongs to the thread that makes it, until ``run()`` is called on another. Any thread may ``submit(_:)``,
/// ``stop()``, read the clocks and ask ``isCurrent``; all else is for the loop's own thread.
// Unchecked: what other threads touch is in `inbox`, behind a mutex, and in `owner`, which is atomic. All other state
// is touched on the loop's thread only.
public final class EventLoop: @unchecked Sendable {
    /// libuv's loop, for what brings handles of its own. Close those before ``stop()``; the loop closes what is left,
    /// and never frees its memory.
    public let raw: UnsafeMutablePointer<uv_loop_t>

    let handles: HandleRegistry
    private let turnEnd: TurnEnd
    private let inbox = Guarded(Inbox())
    private let wakeUp: UnsafeMutablePointer<uv_async_t>
    /// What was taken from the inbox, and how many of it have been run.
    @exclusivity(unchecked) private var taken: [Inbox.Work] = []
    @exclusivity(unchecked) private var takenRun = 0
    /// One buffer for the reads of all connections.
    let readBuffer = ReadBuffer()
    /// Output buffers that no connection needs at present.
    let spareOutput = SpareBuffers()

    /// Whether a timer's action is being run.
    @exclusivity(unchecked) var isFiringTimer = false

    private let owner: Atomic<UInt>
    private let tenure = LoopTenure()
    /// Who wants something done when the turn is over.
    @exclusivity(unchecked) private var partner: (any LoopPartner)?
    @exclusivity(unchecked) private var isStopping = false
    /// Whether the loop may poll for a moment before it sleeps: worth while where nothing that it does waits for a disk (decision 56). For the loop's
    /// own thread.
    public var isBusyPolling = false
    @exclusivity(unchecked) private var busyPoll = BusyPoll()
    private let hasEnded = Guarded(false)

    /// A loop of the calling thread.
    public convenience init() throws(TransportError) {
        try self.init(owner: Self.callingThread)
    }

    private init(owner: UInt) throws(TransportError) {
        let raw = UnsafeMutablePointer<uv_loop_t>.allocate(capacity: 1)
        do throws(TransportError) {
            try TransportError.check(uv_loop_init(raw), "uv_loop_init")
        } catch {
            raw.deallocate()
            throw error
        }
        let handles = HandleRegistry(loop: raw)
        let wakeUp: Handle
        do throws(TransportError) {
            wakeUp = try Handle("uv_async_init", in: handles) { uv_async_init($0, $1) { Handle.of($0).onEvent?(0, 0) } }
            turnEnd = try TurnEnd(handles)
        } catch {
            handles.closeAll()
            uv_loop_close(raw)
            raw.deallocate()
            throw error
        }
        self.raw = raw
        self.handles = handles
        self.wakeUp = wakeUp.raw()
        self.owner = Atomic(owner)
        // The handle's events end before the loop does.
        wakeUp.onEvent = { [unowned self] _, _ in drain() }
    }

    deinit {
        if !isClosed { shutDown() }
        raw.deallocate()
    }

    /// Runs the loop on the calling thread until ``stop()``; then closes all its handles and the loop itself. A loop
    /// runs once.
    public func run() {
        guard !isClosed else { return }
        owner.store(Self.callingThread, ordering: .relaxed)
        while let partner = serve() {
            guard partner.changePlaces() else { return hasEnded.wait(until: { $0 }) }
        }
    }

    /// Makes ``run()`` return once what was submitted before has run. From any thread.
    public func stop() {
        submit { [self] in
            isStopping = true
            uv_stop(raw)
        }
    }

    /// Whether the loop is closed for good. From any thread.
    public var isClosed: Bool {
        inbox.withLock { $0.phase == .closed }
    }

    /// Waits until the loop is closed for good.
    public func waitUntilClosed() async {
        await withCheckedContinuation { continuation in
            let waits = inbox.withLock { $0.awaitClose { continuation.resume() } }
            if !waits { continuation.resume() }
        }
    }

    /// Runs `work` once at the end of the loop's present turn, when all sockets that were ready have been read: for
    /// what is cheaper in bulk, and for what others have to come before. Work that such work adds is run in the same turn,
    /// unless it goes on adding.
    public func atEndOfTurn(_ phase: TurnPhase, _ work: @escaping () -> Void) {
        preconditionCurrent()
        turnEnd.add(phase, work)
    }

    /// The same for those who must not be called back before a call returns.
    public func atEndOfTurn(_ work: @escaping () -> Void) { atEndOfTurn(.facts, work) }

    /// Runs `work` once at the end of the loop's next turn: for what has had its share of this one, so that all sockets
    /// that are ready are read before it goes on.
    public func atEndOfNextTurn(_ work: @escaping () -> Void) {
        preconditionCurrent()
        turnEnd.addForNextTurn(work)
    }

    private func shutDown() {
        turnEnd.run()
        doBetweenTurns()
        inbox.withLock { $0.beginClosing() }
        handles.closeAll()
        let code = uv_loop_close(raw)
        precondition(code == 0, "the event loop has open handles: \(code)")
        for waiter in runLeftovers() { waiter() }
        hasEnded.withLock { $0 = true }
    }

    /// Runs what came while the loop was closing, and closes the inbox.
    private func runLeftovers() -> [@Sendable () -> Void] {
        while true {
            drainAll()
            turnEnd.run()
            doBetweenTurns()
            // The owner is given up first: once the inbox is closed a late thread may take over.
            let former = owner.exchange(0, ordering: .acquiringAndReleasing)
            if let waiters = inbox.withLock({ $0.close() }) { return waiters }
            owner.store(former, ordering: .releasing)
        }
    }
}

// MARK: Between two turns

extension EventLoop {
    /// Asks the partner at the end of this turn what is to be done between it and the next. A loop has one partner.
    public func betweenTurns(_ partner: any LoopPartner) {
        preconditionCurrent()
        self.partner = partner
    }

    /// Makes the loop the calling thread's, if its own is away between two turns. Who has taken it over calls
    /// ``runTakenOver()``. From any thread but the loop's.
    /// - Parameter patience: how long the loop's thread has to be gone for that.
    public func takeOver(ifGoneFor patience: Duration) -> Bool {
        guard tenure.takeOver(ifGoneSince: monotonicNow - patience.wholeNanoseconds) else { return false }
        setCurrent(true)
        return true
    }

    /// Runs the loop that the calling thread has taken over.
    /// - Returns: whether another thread has taken it over in its turn; otherwise the loop has ended.
    public func runTakenOver() -> Bool { serve() != nil }

    /// Turns until the loop ends, or until it is another thread's.
    /// - Returns: the partner, in the latter case.
    private func serve() -> (any LoopPartner)? {
        while !isStopping {
            if partner == nil { waitAndTurn() } else { turn(UV_RUN_NOWAIT) }
            guard let partner else { continue }
            self.partner = nil
            guard workBetweenTurns(partner) else { return partner }
        }
        shutDown()
        return nil
    }

    /// Waits until there is something to be done, and does it.
    private func waitAndTurn() {
        guard isBusyPolling else { return turn(UV_RUN_ONCE) }
        let begin = monotonicNow
        if busyPoll.polls() {
            let isFound = polls(until: begin + BusyPoll.longest)
            busyPoll.polled(isFound: isFound)
            if isFound { return turn(UV_RUN_NOWAIT) }
        }
        turn(UV_RUN_ONCE)
        busyPoll.slept(for: monotonicNow - begin)
    }

    private func turn(_ mode: uv_run_mode) { uv_run(raw, mode) }

    /// - Returns: whether there is something to be done.
    private func polls(until end: Int64) -> Bool {
        var queue = pollfd(fd: uv_backend_fd(raw), events: Int16(POLLIN), revents: 0)
        repeat {
            if uv_backend_timeout(raw) == 0 || poll(&queue, 1, 0) != 0 { return true }
        } while monotonicNow < end
        return false
    }

    /// - Returns: whether the loop still is this thread's.
    private func workBetweenTurns(_ partner: any LoopPartner) -> Bool {
        guard let work = partner.turnEnded() else { return true }
        let absence = tenure.goAway(at: monotonicNow)
        work()
        guard tenure.comeBack(absence) else {
            submit { partner.workEnded(inPlace: false) }
            return false
        }
        partner.workEnded(inPlace: true)
        // Who waited for it is told before anybody looks what else comes of it.
        turnEnd.runFirst(.write)
        turnEnd.run()
        return true
    }

    /// The same where nobody takes over, since there is nothing any more to be held up.
    private func doBetweenTurns() {
        while let partner {
            self.partner = nil
            guard let work = partner.turnEnded() else { continue }
            work()
            partner.workEnded(inPlace: true)
            turnEnd.run()
        }
    }
}

extension EventLoop {
    /// Whether the calling thread is the loop's. From any thread.
    public var isCurrent: Bool {
        owner.load(ordering: .relaxed) == Self.callingThread
    }

    /// Stops the program unless the calling thread is the loop's.
    public func preconditionCurrent() {
        precondition(isCurrent, "this must be called on the event loop's thread")
    }

    /// Makes the calling thread the loop's, or gives that up.
    private func setCurrent(_ isCurrent: Bool) {
        owner.store(isCurrent ? Self.callingThread : 0, ordering: .releasing)
    }

    private static var callingThread: UInt {
        UInt(pthread_self())
    }
}

// MARK: Work from other threads

extension EventLoop {
    /// Runs `work` on the loop, in the order in which it was submitted. From any thread.
    ///
    /// Work never vanishes, or tasks that still call the loop's actor would hang: what comes after the loop has closed
    /// is run on a thread of its own, one piece at a time. Sockets and timers cannot be opened there any more.
    public func submit(_ work: @escaping @Sendable () -> Void) {
        push(.closure(work))
    }

    private func push(_ work: Inbox.Work) {
        let mustStartThread = inbox.withLock { inbox -> Bool in
            let duty = inbox.push(work)
            // Inside the lock: outside, the loop could be closed between the push and the wake.
            if duty == .wakeLoop { uv_async_send(wakeUp) }
            return duty == .startLateThread
        }
        if mustStartThread { startLateThread() }
    }

    /// Runs a turn's share of what was submitted; the sockets get their turn before the rest.
    private func drain() {
        for _ in 0..<Self.worksPerTurn {
            guard let work = nextWork() else { return }
            run(work)
        }
        uv_async_send(wakeUp)
    }

    /// Runs all that was submitted.
    private func drainAll() {
        while let work = nextWork() { run(work) }
    }

    private func nextWork() -> Inbox.Work? {
        if takenRun == taken.count {
            // After a burst the memory goes back.
            taken.removeAll(keepingCapacity: taken.count <= Self.keptRoom)
            takenRun = 0
            inbox.withLock { $0.take(into: &taken) }
        }
        guard takenRun < taken.count else { return nil }
        defer { takenRun += 1 }
        return taken[takenRun]
    }

    private func run(_ work: Inbox.Work) {
        switch work {
        case .job(let job): job.runSynchronously(on: asUnownedSerialExecutor())
        case .closure(let closure): closure()
        }
    }

    private func startLateThread() {
        do throws(TransportError) {
            try LoopThread.start(named: "headgate-late") { self.serveLate() }
        } catch {
            // No thread to be had. The calling one serves: still one piece of work at a time.
            serveLate()
        }
    }

    private func serveLate() {
        repeat {
            setCurrent(true)
            drainAll()
            turnEnd.run()
            doBetweenTurns()
            setCurrent(false)
        } while !inbox.withLock { $0.endLateService() }
    }

    private static var worksPerTurn: Int { 1024 }
    private static var keptRoom: Int { 4096 }
}

/// An actor lives on the loop when its `unownedExecutor` is the loop's. Callbacks of the loop enter it by
/// `assumeIsolated`.
extension EventLoop: SerialExecutor {
    public func enqueue(_ job: consuming ExecutorJob) {
        push(.job(UnownedJob(job)))
    }

    public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }

    public func isIsolatingCurrentContext() -> Bool? {
        isCurrent
    }

    public func checkIsolated() {
        preconditionCurrent()
    }
}

// MARK: Clocks

extension EventLoop {
    /// Nanoseconds on the monotonic clock, for waits; the origin means nothing. From any thread.
    public var monotonicNow: Int64 {
        Int64(truncatingIfNeeded: uv_hrtime())
    }

    /// Wall time, for what people read. It may jump. From any thread.
    public var wallNow: Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    /// The moment on the monotonic clock so long from now; one too far off to be told is the clock's last.
    func deadline(after delay: Duration) -> Int64 {
        let (seconds, attoseconds) = delay.components
        guard seconds < 1 << 32 else { return .max }
        guard seconds >= 0 else { return monotonicNow }
        return monotonicNow + seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}

extension Duration {
    fileprivate var wholeNanoseconds: Int64 {
        components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
    }
}

// MARK: A thread of its own

extension EventLoop {
    /// A loop that runs on a new thread of its own until ``stop()``.
    public static func onNewThread(named name: String) throws(TransportError) -> EventLoop {
        let loop = try EventLoop(owner: 0)
        try LoopThread.start(named: name) { loop.run() }
        return loop
    }

    /// Closes a handle whose owner is going away, on whatever thread that is.
    func release(_ handle: Handle?) {
        guard let handle else { return }
        if isCurrent { return handle.close() }
        guard !isClosed else { return }
        // Its owner is gone: from here on only the loop's thread sees it.
        nonisolated(unsafe) let orphan = handle
        submit { orphan.close() }
    }
}
