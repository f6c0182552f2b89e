import HeadgateCore

/// A barrier that is closed while a dispatcher of kind `worker` has no worker. Each such dispatcher has one
/// WorkerBarrier, which is never flushable. Lists of barriers show it with the reason why no event is sent (Behaviour
/// B10).
final class WorkerBarrier: DescribedBarrier {
    static let kind = ConfiguredBarriers.worker

    @StateSubject(.closed) private var state: ObservableState<BarrierState>
    private var cause: String? = WorkerBarrier.noSubscriber

    static let noSubscriber = "no worker subscribes"

    /// Opens or closes the barrier.
    /// - Parameter cause: the reason why no worker takes batches, or nil to open the barrier.
    /// - Returns: true if the cause has changed.
    func set(_ cause: String?) -> Bool {
        guard cause != self.cause else { return false }
        self.cause = cause
        let new: BarrierState = cause == nil ? .open : .closed
        if new != state.value { _state.value = new }
        return true
    }

    func onState(for dispatcherId: String) -> Observable<BarrierState> {
        state
    }

    var isFlushable: Observable<Bool> {
        Observables.just(false)
    }

    func reason(for dispatcherId: String) -> String? {
        cause
    }
}
