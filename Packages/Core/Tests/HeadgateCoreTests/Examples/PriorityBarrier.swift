import HeadgateCore

/// Blocks every dispatcher except the important ones.
final class PriorityBarrier: Barrier {
    private let importantDispatchers: Set<String>
    @StateSubject(.closed)
    private var generalState: ObservableState<BarrierState>

    init(importantDispatchers: [String]) {
        self.importantDispatchers = Set(importantDispatchers)
    }

    func onState(for dispatcherId: String) -> Observable<BarrierState> {
        importantDispatchers.contains(dispatcherId) ? Observables.just(.open) : generalState
    }

    func setGeneralState(_ state: BarrierState) {
        _generalState.value = state
    }
}
