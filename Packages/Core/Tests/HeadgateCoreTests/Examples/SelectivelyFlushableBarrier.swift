import HeadgateCore

/// Always closed; whether a flush goes through is somebody's decision.
final class SelectivelyFlushableBarrier: Barrier {
    @StateSubject(true)
    private var canFlush: ObservableState<Bool>

    func onState(for dispatcherId: String) -> Observable<BarrierState> {
        Observables.just(.closed)
    }

    var isFlushable: Observable<Bool> {
        canFlush
    }

    func setFlushable(_ flushable: Bool) {
        _canFlush.value = flushable
    }
}
