import HeadgateCore

/// Always closed. The application decides whether a flush may pass the barrier.
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
