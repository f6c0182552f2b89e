import HeadgateData

/// The one executor that owns all state: barriers, queues, flushes and deliveries are read and changed on it alone
/// (Behaviour B11). It is also where time comes from, so that nothing in Core reads a clock.
///
/// Types that live on the worker are not `Sendable`: handing one to another thread does not compile. Where Swift
/// cannot see it, ``preconditionOnWorker()`` stops the program.
public protocol Worker: AnyObject {
    /// Monotonic time, for waits.
    var now: Instant { get }
    /// Wall time, for what people read. It may jump.
    var wall: Timestamp { get }
    /// Milliseconds since the machine's boot. Unlike ``now`` it goes on while the machine sleeps (Behaviour P7).
    var sinceBoot: Int64 { get }
    /// Which boot that was, as the kernel names it; empty where that is not known.
    var boot: String { get }
    /// Runs `work` on the worker at the end of its present turn, once all facts of the turn are in: in a phase of that end,
    /// and behind what was added to the phase before.
    func atEndOfTurn(_ phase: TurnPhase, _ work: @escaping () -> Void)
    /// Runs `work` on the worker once `deadline` has come. Disposing the result cancels it.
    func schedule(at deadline: Instant, _ work: @escaping () -> Void) -> any Disposable
    /// Whether the caller is on the worker. From any thread.
    var isCurrent: Bool { get }
    /// Runs `work` on the worker, later, in the order in which it was submitted. From any thread.
    func submit(_ work: @escaping @Sendable () -> Void)
    /// Stops the program when the caller is not on the worker.
    func preconditionOnWorker()
}

extension Worker {
    /// Runs `work` later in this turn, for those who must not be called back before a call returns.
    public func soon(_ work: @escaping () -> Void) { atEndOfTurn(.facts, work) }

    /// What all its clocks say now.
    var clocks: ClockReading { ClockReading(now: now, wall: wall, sinceBoot: sinceBoot, boot: boot) }
}

/// A worker as anybody may hold it: the one thing of it that may be handed to another thread (Behaviour B11).
// Unchecked: a worker is not Sendable, but `isCurrent` and `submit`, which may be called from any thread, are all that is
// used of it without a check that the caller is on it.
public struct WorkerQueue: @unchecked Sendable {
    private let worker: any Worker

    public init(_ worker: any Worker) {
        self.worker = worker
    }

    /// Runs `work` on the worker: at once when the caller is on it, else later, in the order of the calls.
    public func ensureOnQueue(_ work: @escaping @Sendable () -> Void) {
        if worker.isCurrent { work() } else { worker.submit(work) }
    }

    /// Runs `work` after a while. To be called on the worker.
    func schedule(after delay: Duration, _ work: @escaping () -> Void) -> any Disposable {
        worker.preconditionOnWorker()
        return worker.schedule(at: worker.now + delay, work)
    }
}
