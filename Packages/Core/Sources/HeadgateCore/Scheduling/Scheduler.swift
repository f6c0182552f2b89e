import HeadgateData

/// The single executor that owns all state: barriers, queues, flushes and deliveries are read and changed on it only
/// (Behaviour B11). It is also the source of time, so that Core reads no clock.
///
/// Types that live on the scheduler are not `Sendable`: passing one to another thread does not compile. Where Swift
/// cannot check that, ``preconditionOnScheduler()`` stops the program.
public protocol Scheduler: AnyObject {
    /// The monotonic time, for waits.
    var now: Instant { get }
    /// The wall time, for people. It may jump.
    var wall: Timestamp { get }
    /// Milliseconds since the machine's boot. Unlike ``now``, the value includes time asleep (Behaviour P7).
    var sinceBoot: Int64 { get }
    /// The kernel's id of the present boot; empty if unknown.
    var boot: String { get }
    /// Runs `work` on the scheduler at the end of its present turn, in a phase of that end and after work that was
    /// added to the phase before.
    func atEndOfTurn(_ phase: TurnPhase, _ work: @escaping () -> Void)
    /// Runs `work` on the scheduler at the end of its next turn, which begins at once and processes the input that is
    /// ready by then.
    func nextTurn(_ work: @escaping () -> Void)
    /// Runs `work` on the scheduler at a time. Disposing the result cancels it.
    func schedule(at deadline: Instant, _ work: @escaping () -> Void) -> any Disposable
    /// True if the caller is on the scheduler. May be called from any thread.
    var isCurrent: Bool { get }
    /// Runs `work` on the scheduler later, in the order of the calls. May be called from any thread.
    func submit(_ work: @escaping @Sendable () -> Void)
    /// Stops the program if the caller is not on the scheduler.
    func preconditionOnScheduler()
}

extension Scheduler {
    /// Runs `work` later in this turn, for completions that must not be called before a function returns.
    public func soon(_ work: @escaping () -> Void) { atEndOfTurn(.facts, work) }

    /// The present reading of all clocks.
    var clocks: ClockReading { ClockReading(now: now, wall: wall, sinceBoot: sinceBoot, boot: boot) }
}

/// The part of a scheduler that may be used from any thread (Behaviour B11).
// Unchecked: a scheduler is not Sendable. Only `isCurrent` and `submit`, which may be called from any thread, are used
// without checking that the caller is on it.
public struct SchedulerQueue: @unchecked Sendable {
    private let scheduler: any Scheduler

    public init(_ scheduler: any Scheduler) {
        self.scheduler = scheduler
    }

    /// Runs `work` on the scheduler: at once if the caller is on it, otherwise later, in the order of the calls.
    public func ensureOnQueue(_ work: @escaping @Sendable () -> Void) {
        if scheduler.isCurrent { work() } else { scheduler.submit(work) }
    }

    /// Runs `work` after a delay. Must be called on the scheduler.
    func schedule(after delay: Duration, _ work: @escaping () -> Void) -> any Disposable {
        scheduler.preconditionOnScheduler()
        return scheduler.schedule(at: scheduler.now + delay, work)
    }
}
