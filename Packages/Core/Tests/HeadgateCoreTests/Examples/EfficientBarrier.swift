import HeadgateCore

/// Computes an expensive state once a minute, and shares it between all dispatchers.
final class EfficientBarrier: Barrier {
    @StateSubject(.open)
    private var cachedState: ObservableState<BarrierState>

    private let calculate: () -> BarrierState
    private var timer: RepeatingTimer?

    init(queue: SchedulerQueue, calculate: @escaping () -> BarrierState) {
        self.calculate = calculate
        updateState()
        timer = RepeatingTimer(interval: .seconds(60), queue: queue) { [weak self] in
            self?.updateState()
        }
        timer?.resume()
    }

    deinit {
        timer?.suspend()
    }

    func onState(for dispatcherId: String) -> Observable<BarrierState> {
        cachedState
    }

    private func updateState() {
        let newState = calculate()
        if newState != cachedState.value { _cachedState.value = newState }
    }
}
