import CUV
import Glibc
import HeadgateData
import Synchronization

/// A libuv event loop, which can be the executor of actors. A single thread runs everything that lives on it.
///
/// The loop belongs to the thread that creates it, until ``run()`` is called on another thread. Any thread may call
/// ``submit(_:)`` and ``stop()``, read the clocks and read ``isCurrent``. All else is for the loop's own thread.
// Unchecked: other threads use only `inbox`, which has a mutex, and `owner`, which is atomic. All other state is used
// on the loop's thread only.
public final class EventLoop: @unchecked Sendable {
    /// libuv's loop, for libraries with handles of their own. Close those before ``stop()``. The loop closes remaining
    /// handles without freeing their memory.
    public let raw: UnsafeMutablePointer<uv_loop_t>

    let handles: HandleRegistry
    private let turnEnd: TurnEnd
    private let inbox = Guarded(Inbox())
    private let wakeUp: UnsafeMutablePointer<uv_async_t>
    /// The work taken from the inbox, and the index of the next item to run.
    @exclusivity(unchecked) private var taken: [Inbox.Work] = []
    @exclusivity(unchecked) private var takenRun = 0
    /// The read buffer of all connections.
    let readBuffer = ReadBuffer()
    /// The pool of output buffers.
    let spareOutput = SpareBuffers()

    /// True while a timer's action is running.
    @exclusivity(unchecked) var isFiringTimer = false

    private let owner: Atomic<UInt>
    private let ownership = LoopOwnership()
    /// The helper that has work after this turn; nil if there is none.
    @exclusivity(unchecked) private var helper: (any LoopHelper)?
    @exclusivity(unchecked) private var isStopping = false
    /// True if the loop may poll for a moment before it sleeps, which is useful if none of its work waits for a disk
    /// (decision 56). For the loop's own thread only.
    public var isBusyPolling = false
    @exclusivity(unchecked) private var busyPoll = BusyPoll()
    private let hasEnded = Guarded(false)

    /// Creates a loop of the calling thread.
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
        // The handle is closed before the loop is.
        wakeUp.onEvent = { [unowned self] _, _ in drain() }
    }

    deinit {
        if !isClosed { shutDown() }
        raw.deallocate()
    }

    /// Runs the loop on the calling thread until ``stop()``, then closes all its handles and the loop itself. A loop
    /// can run only once.
    public func run() {
        guard !isClosed else { return }
        owner.store(Self.callingThread, ordering: .relaxed)
        serveInTurns()
        hasEnded.wait(until: { $0 })
    }

    /// Makes ``run()`` return after all earlier submitted work has run. May be called from any thread.
    public func stop() {
        submit { [self] in
            isStopping = true
            uv_stop(raw)
        }
    }

    /// True if the loop is closed. May be read from any thread.
    public var isClosed: Bool {
        inbox.withLock { $0.isClosed }
    }

    /// Waits until the loop is closed.
    public func waitUntilClosed() async {
        await withCheckedContinuation { continuation in
            let waits = inbox.withLock { $0.awaitClose { continuation.resume() } }
            if !waits { continuation.resume() }
        }
    }

    /// Runs `work` once at the end of the loop's present turn, after all ready sockets have been read. Work that is
    /// added by this work runs in the same turn, up to a number of rounds.
    public func atEndOfTurn(_ phase: TurnPhase, _ work: @escaping () -> Void) {
        preconditionCurrent()
        turnEnd.add(phase, work)
    }

    /// Runs `work` at the end of the turn in the first phase, for completions that must not be called before a function
    /// returns.
    public func atEndOfTurn(_ work: @escaping () -> Void) { atEndOfTurn(.facts, work) }

    /// Runs `work` once at the end of the loop's next turn. Use it to continue long work: all ready sockets are read
    /// first.
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

    /// Runs the work that arrived while the loop was closing, and closes the inbox.
    private func runLeftovers() -> [@Sendable () -> Void] {
        while true {
            drainAll()
            turnEnd.run()
            doBetweenTurns()
            // Release the ownership first: once the inbox is closed, the thread for late work may take it.
            let former = owner.exchange(0, ordering: .acquiringAndReleasing)
            if let waiters = inbox.withLock({ $0.close() }) { return waiters }
            owner.store(former, ordering: .releasing)
        }
    }
}

// MARK: Between two turns

extension EventLoop {
    /// Registers the helper for the end of this turn. The loop then calls ``LoopHelper/turnEnded()``. A loop has at
    /// most one helper.
    public func betweenTurns(_ helper: any LoopHelper) {
        preconditionCurrent()
        self.helper = helper
    }

    /// Takes the loop over for the calling thread if its own thread is busy with a helper's work. After a success the
    /// caller calls ``runTakenOver()``. May be called from any thread but the loop's.
    /// - Parameter timeLimit: the time for which the loop's thread must have been busy with the helper's work.
    public func takeOver(ifGoneFor timeLimit: Duration) -> Bool {
        guard ownership.takeOver(ifGoneSince: monotonicNow - timeLimit.wholeNanoseconds) else { return false }
        setCurrent(true)
        return true
    }

    /// Runs a loop that the calling thread has taken over, until the loop ends or there is no more work for this thread.
    public func runTakenOver() { serveInTurns() }

    /// Runs the loop, or the helper's work while another thread has the loop, until the loop ends or there is no more work.
    private func serveInTurns() {
        while let helper = serve(), helper.exchangeRoles() {}
    }

    /// Runs turns until the loop ends or another thread takes it over.
    /// - Returns: the helper if another thread has taken the loop over; nil if the loop has ended.
    private func serve() -> (any LoopHelper)? {
        while !isStopping {
            if helper == nil { waitAndTurn() } else { turn(UV_RUN_NOWAIT) }
            guard let helper else { continue }
            self.helper = nil
            guard workBetweenTurns(helper) else { return helper }
        }
        shutDown()
        return nil
    }

    /// Waits for events, and processes them in one turn.
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

    /// Polls for events until a time.
    /// - Returns: true if there is an event to process.
    private func polls(until end: Int64) -> Bool {
        var queue = pollfd(fd: uv_backend_fd(raw), events: Int16(POLLIN), revents: 0)
        repeat {
            if uv_backend_timeout(raw) == 0 || poll(&queue, 1, 0) != 0 { return true }
        } while monotonicNow < end
        return false
    }

    /// Runs a helper's work after a turn.
    /// - Returns: true if the loop still belongs to this thread.
    private func workBetweenTurns(_ helper: any LoopHelper) -> Bool {
        guard let work = helper.turnEnded() else { return true }
        let absence = ownership.goAway(at: monotonicNow)
        work()
        guard ownership.comeBack(absence) else {
            submit { helper.workEnded(inPlace: false) }
            return false
        }
        helper.workEnded(inPlace: true)
        // Acknowledgements that the work has produced are written to sockets before other work of the turn's end.
        turnEnd.runFirst(.write)
        turnEnd.run()
        return true
    }

    /// Runs the helper's work while the loop is closing, when no other thread takes over.
    private func doBetweenTurns() {
        while let helper {
            self.helper = nil
            guard let work = helper.turnEnded() else { continue }
            work()
            helper.workEnded(inPlace: true)
            turnEnd.run()
        }
    }
}

extension EventLoop {
    /// True if the calling thread is the loop's. May be read from any thread.
    public var isCurrent: Bool {
        owner.load(ordering: .relaxed) == Self.callingThread
    }

    /// Stops the program unless the calling thread is the loop's.
    public func preconditionCurrent() {
        precondition(isCurrent, "this must be called on the event loop's thread")
    }

    /// Makes the calling thread the loop's owner, or releases the ownership.
    private func setCurrent(_ isCurrent: Bool) {
        owner.store(isCurrent ? Self.callingThread : 0, ordering: .releasing)
    }

    private static var callingThread: UInt {
        UInt(pthread_self())
    }
}

// MARK: Work from other threads

extension EventLoop {
    /// Runs `work` on the loop, in the order of the calls. May be called from any thread.
    ///
    /// Work is never dropped, because tasks that still call the loop's actor would hang. Work that arrives after the
    /// loop has closed runs on a thread of its own, one item at a time. That thread can open neither sockets nor
    /// timers.
    public func submit(_ work: @escaping @Sendable () -> Void) {
        push(.closure(work))
    }

    private func push(_ work: Inbox.Work) {
        let mustStartThread = inbox.withLock { inbox -> Bool in
            let action = inbox.push(work)
            // Send within the lock: otherwise the loop could be closed between the push and the wake-up.
            if action == .wakeLoop { uv_async_send(wakeUp) }
            return action == .startLateThread
        }
        if mustStartThread { startLateThread() }
    }

    /// Runs a limited number of submitted items. The sockets are served before the rest.
    private func drain() {
        for _ in 0..<Self.worksPerTurn {
            guard let work = nextWork() else { return }
            run(work)
        }
        uv_async_send(wakeUp)
    }

    /// Runs all submitted items.
    private func drainAll() {
        while let work = nextWork() { run(work) }
    }

    private func nextWork() -> Inbox.Work? {
        if takenRun == taken.count {
            // Free the memory after a burst.
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
            // No thread could be started, so the calling thread runs the work. It is still one item at a time.
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

/// An actor lives on the loop if its `unownedExecutor` is the loop's. Callbacks of the loop enter the actor with
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
    /// The monotonic time in nanoseconds, for waits. The origin is arbitrary. May be read from any thread.
    public var monotonicNow: Int64 {
        Int64(truncatingIfNeeded: uv_hrtime())
    }

    /// The wall time, for people. It may jump. May be read from any thread.
    public var wallNow: Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    /// Returns the time after a delay on the monotonic clock, limited to the clock's last value.
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
    /// Creates a loop that runs on a new thread until ``stop()``.
    public static func onNewThread(named name: String) throws(TransportError) -> EventLoop {
        let loop = try EventLoop(owner: 0)
        try LoopThread.start(named: name) { loop.run() }
        return loop
    }

    /// Closes the handle of an owner that is being released. May be called on any thread.
    func release(_ handle: Handle?) {
        guard let handle else { return }
        if isCurrent { return handle.close() }
        guard !isClosed else { return }
        // The owner is gone: from here on only the loop's thread uses the handle.
        nonisolated(unsafe) let orphan = handle
        submit { orphan.close() }
    }
}
