/// Stands where a barrier should that could not be made (Behaviour B9).
final class StandInBarrier: DescribedBarrier {
    private let state: BarrierState
    private let cause: String

    init(state: BarrierState, cause: String) {
        self.state = state
        self.cause = cause
    }

    func onState(for dispatcherId: String) -> Observable<BarrierState> {
        Observables.just(state)
    }

    func reason(for dispatcherId: String) -> String? {
        "could not be made: \(cause)"
    }
}
