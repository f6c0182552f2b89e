import HeadgateCore

/// A barrier that any thread may open and close.
// Unchecked: the state is accessed only on the scheduler.
final class SafeBarrier: Barrier, @unchecked Sendable {
    @StateSubject(.open)
    private var state: ObservableState<BarrierState>

    private let queue: SchedulerQueue

    init(queue: SchedulerQueue) {
        self.queue = queue
    }

    func onState(for dispatcherId: String) -> Observable<BarrierState> {
        state
    }

    func updateState(_ newState: BarrierState) {
        queue.ensureOnQueue { [weak self] in
            self?._state.value = newState
        }
    }
}
