import HeadgateCore

/// Closed while nobody works for a dispatcher of kind `worker`: one stands before each, never flushable. Being a barrier,
/// it is shown like any other, so that nobody has to guess why nothing is sent (Behaviour B10).
final class WorkerBarrier: DescribedBarrier {
    static let kind = "WorkerBarrier"

    @StateSubject(.closed) private var state: ObservableState<BarrierState>
    private var cause: String? = WorkerBarrier.nobody

    static let nobody = "no worker subscribes"

    /// - Parameter cause: why nobody takes batches; nil when somebody does.
    /// - Returns: whether that is new.
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
