import HeadgateCore

/// Lets dispatches through for one second, every so often.
final class TimerBarrier: Barrier {
    private var timer: RepeatingTimer?
    private var closeTimer: RepeatingTimer?
    @StateSubject(.closed)
    private var state: ObservableState<BarrierState>

    init(interval: Double, queue: SchedulerQueue) {
        timer = RepeatingTimer(timeInterval: interval, queue: queue) { [weak self] in
            self?._state.value = .open
            self?.closeTimer = RepeatingTimer(timeInterval: 1, repeating: .never, queue: queue) { [weak self] in
                self?._state.value = .closed
            }
            self?.closeTimer?.resume()
        }
        timer?.resume()
    }

    deinit {
        timer?.suspend()
        closeTimer?.suspend()
    }

    func onState(for dispatcherId: String) -> Observable<BarrierState> {
        state
    }

    // A flush need not wait for the next second.
    var isFlushable: Observable<Bool> {
        Observables.just(true)
    }
}
