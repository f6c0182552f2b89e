import HeadgateData

/// Closed while a dispatcher waits to try again: one stands before each dispatcher, never flushable (Behaviour B28).
public final class BackoffBarrier: DescribedBarrier {
    static let kind = "BackoffBarrier"
    static let word = "backoff"

    private let scheduler: any Scheduler
    @StateSubject(.open) private var state: ObservableState<BarrierState>
    private var alarm: (any Disposable)?
    private var cause: String?
    /// When the dispatcher tries again; nil while it does not wait.
    private(set) var retryAt: Instant?
    /// The same as the wall clock stood when the wait began: what people are told does not waver.
    private(set) var retryAtWall: Timestamp?

    init(scheduler: any Scheduler) {
        self.scheduler = scheduler
    }

    /// Closes until a moment, and says why. A wait under way is never shortened; all waits end by themselves
    /// (Behaviour D5).
    func close(until instant: Instant, cause: String) {
        let instant = max(instant, retryAt ?? instant)
        self.cause = cause
        retryAt = instant
        retryAtWall = Timestamp(milliseconds: scheduler.wall.milliseconds + (instant - scheduler.now).wholeMilliseconds)
        alarm?.dispose()
        alarm = scheduler.schedule(at: instant) { [weak self] in self?.open() }
        _state.value = .closed
    }

    /// Ends the wait.
    func open() {
        alarm?.dispose()
        alarm = nil
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
