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
    let turnEnd: TurnEnd
    let inbox = Guarded(Inbox())
    let wakeUp: UnsafeMutablePointer<uv_async_t>
    /// What was taken from the inbox, and how many of it have been run.
    var taken: [Inbox.Work] = []
    var takenRun = 0
    /// One buffer for the reads of all connections.
    let readBuffer = ReadBuffer()
    /// Output buffers that no connection needs at present.
    let spareOutput = SpareBuffers()

    /// Whether a timer's action is being run.
    var isFiringTimer = false

    private let owner: Atomic<UInt>
    private var isStopping = false

    /// A loop of the calling thread.
    public convenience init() throws(TransportError) {
        try self.init(owner: Self.callingThread)
    }

    init(owner: UInt) throws(TransportError) {
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
        while !isStopping { uv_run(raw, UV_RUN_DEFAULT) }
        shutDown()
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
        inbox.withLock { $0.beginClosing() }
        handles.closeAll()
        let code = uv_loop_close(raw)
        precondition(code == 0, "the event loop has open handles: \(code)")
        for waiter in runLeftovers() { waiter() }
    }

    /// Runs what came while the loop was closing, and closes the inbox.
    private func runLeftovers() -> [@Sendable () -> Void] {
        while true {
            drainAll()
            turnEnd.run()
            // The owner is given up first: once the inbox is closed a late thread may take over.
            let former = owner.exchange(0, ordering: .acquiringAndReleasing)
            if let waiters = inbox.withLock({ $0.close() }) { return waiters }
            owner.store(former, ordering: .releasing)
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
    func setCurrent(_ isCurrent: Bool) {
        owner.store(isCurrent ? Self.callingThread : 0, ordering: .releasing)
    }

    private static var callingThread: UInt {
        UInt(pthread_self())
    }
}
