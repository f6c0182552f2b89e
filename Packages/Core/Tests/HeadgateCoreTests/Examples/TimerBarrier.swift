import HeadgateCore

/// Opens for one second at a regular interval.
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

    // A flush does not wait for the next interval.
    var isFlushable: Observable<Bool> {
        Observables.just(true)
    }
}
