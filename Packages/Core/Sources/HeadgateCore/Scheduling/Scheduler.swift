import HeadgateData

/// The one executor that owns all state: barriers, queues, flushes and deliveries are read and changed on it alone
/// (Behaviour B11). It is also where time comes from, so that nothing in Core reads a clock.
///
/// Types that live on the scheduler are not `Sendable`: handing one to another thread does not compile. Where Swift
/// cannot see it, ``preconditionOnScheduler()`` stops the program.
public protocol Scheduler: AnyObject {
    /// Monotonic time, for waits.
    var now: Instant { get }
    /// Wall time, for what people read. It may jump.
    var wall: Timestamp { get }
    /// Milliseconds since the machine's boot. Unlike ``now`` it goes on while the machine sleeps (Behaviour P7).
    var sinceBoot: Int64 { get }
    /// Which boot that was, as the kernel names it; empty where that is not known.
    var boot: String { get }
    /// Runs `work` on the scheduler at the end of its present turn, once all facts of the turn are in: in a phase of that end,
    /// and behind what was added to the phase before.
    func atEndOfTurn(_ phase: TurnPhase, _ work: @escaping () -> Void)
    /// Runs `work` on the scheduler at the end of its next turn, in which what is ready by then is taken in first. That turn
    /// comes at once.
    func nextTurn(_ work: @escaping () -> Void)
    /// Runs `work` on the scheduler once `deadline` has come. Disposing the result cancels it.
    func schedule(at deadline: Instant, _ work: @escaping () -> Void) -> any Disposable
    /// Whether the caller is on the scheduler. From any thread.
    var isCurrent: Bool { get }
    /// Runs `work` on the scheduler, later, in the order in which it was submitted. From any thread.
    func submit(_ work: @escaping @Sendable () -> Void)
    /// Stops the program when the caller is not on the scheduler.
    func preconditionOnScheduler()
}

extension Scheduler {
    /// Runs `work` later in this turn, for those who must not be called back before a call returns.
    public func soon(_ work: @escaping () -> Void) { atEndOfTurn(.facts, work) }

    /// What all its clocks say now.
    var clocks: ClockReading { ClockReading(now: now, wall: wall, sinceBoot: sinceBoot, boot: boot) }
}

/// A scheduler as anybody may hold it: the one thing of it that may be handed to another thread (Behaviour B11).
// Unchecked: a scheduler is not Sendable, but `isCurrent` and `submit`, which may be called from any thread, are all that is
// used of it without a check that the caller is on it.
public struct SchedulerQueue: @unchecked Sendable {
    private let scheduler: any Scheduler

    public init(_ scheduler: any Scheduler) {
        self.scheduler = scheduler
    }

    /// Runs `work` on the scheduler: at once when the caller is on it, else later, in the order of the calls.
    public func ensureOnQueue(_ work: @escaping @Sendable () -> Void) {
        if scheduler.isCurrent { work() } else { scheduler.submit(work) }
    }

    /// Runs `work` after a while. To be called on the scheduler.
    func schedule(after delay: Duration, _ work: @escaping () -> Void) -> any Disposable {
        scheduler.preconditionOnScheduler()
        return scheduler.schedule(at: scheduler.now + delay, work)
    }
}
