import HeadgateCore

/// Blocks a dispatcher while another has many pending events, and runs a timer. It releases both when it is removed.
final class ResourceManagedBarrier: Barrier {
    @StateSubject(.open)
    private var state: ObservableState<BarrierState>

    private var timer: RepeatingTimer?
    private var subscription: (any Disposable)?

    init(context: BarrierContext, busyDispatcher: String, onTick: @escaping () -> Void) {
        timer = RepeatingTimer(interval: .seconds(10), queue: context.queue, handler: onTick)
        timer?.resume()
        subscription = context.queues.onDepth(for: busyDispatcher).subscribe { [weak self] depth in
            self?._state.value = depth.pending >= 1000 ? .closed : .open
        }
    }

    deinit {
        timer?.suspend()
        subscription?.dispose()
    }

    func onState(for dispatcherId: String) -> Observable<BarrierState> {
        state
    }
}
