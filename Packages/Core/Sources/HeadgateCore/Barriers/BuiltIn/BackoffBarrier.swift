import HeadgateData

/// A barrier that blocks a dispatcher while it is backing off. Each dispatcher has one, which is never flushable
/// (Behaviour B28).
public final class BackoffBarrier: DescribedBarrier {
    static let kind = "BackoffBarrier"
    static let word = "backoff"

    private let scheduler: any Scheduler
    @StateSubject(.open) private var state: ObservableState<BarrierState>
    private var timer: (any Disposable)?
    private var cause: String?
    /// The time of the next attempt; nil while the dispatcher is not backing off.
    private(set) var retryAt: Instant?
    /// The wall-clock time of the next attempt, computed at the beginning of the wait, so that the displayed time is
    /// stable.
    private(set) var retryAtWall: Timestamp?

    init(scheduler: any Scheduler) {
        self.scheduler = scheduler
    }

    /// Closes the barrier until a time, with a cause. A running wait is never shortened. Every wait ends by itself
    /// (Behaviour D5).
    func close(until instant: Instant, cause: String) {
        let instant = max(instant, retryAt ?? instant)
        self.cause = cause
        retryAt = instant
        retryAtWall = Timestamp(milliseconds: scheduler.wall.milliseconds + (instant - scheduler.now).wholeMilliseconds)
        timer?.dispose()
        timer = scheduler.schedule(at: instant) { [weak self] in self?.open() }
        _state.value = .closed
    }

    /// Ends the wait.
    func open() {
        timer?.dispose()
        timer = nil
        retryAt = nil
        retryAtWall = nil
        cause = nil
        _state.value = .open
    }

    public func onState(for dispatcherId: String) -> Observable<BarrierState> {
        state
    }

    public var isFlushable: Observable<Bool> {
        Observables.just(false)
    }

    public func reason(for dispatcherId: String) -> String? {
        cause
    }
}
