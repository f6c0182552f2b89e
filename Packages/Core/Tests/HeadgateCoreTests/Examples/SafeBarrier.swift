import HeadgateCore

/// May be opened and closed from any thread.
// Unchecked: the state is touched on the worker only.
final class SafeBarrier: Barrier, @unchecked Sendable {
    @StateSubject(.open)
    private var state: ObservableState<BarrierState>

    private let queue: WorkerQueue

    init(queue: WorkerQueue) {
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
