/// A barrier that blocks a dispatcher while there is no room for the dead letter of one of its events. Each dispatcher
/// has one, which is never flushable (Behaviour D10).
public final class DeadLettersBarrier: DescribedBarrier {
    static let kind = "DeadLettersBarrier"

    @StateSubject(.open) private var state: ObservableState<BarrierState>
    /// The size of the event that needs room, in bytes; nil while the barrier is open.
    private(set) var needed: Int?

    init() {}

    /// Closes the barrier until there is room for a dead letter of `bytes`.
    func close(needing bytes: Int) {
        needed = bytes
        _state.value = .closed
    }

    func open() {
        needed = nil
        _state.value = .open
    }

    public func onState(for dispatcherId: String) -> Observable<BarrierState> {
        state
    }

    public var isFlushable: Observable<Bool> {
        Observables.just(false)
    }

    public func reason(for dispatcherId: String) -> String? {
        guard needed != nil else { return nil }
        return "the limit of dead letters is reached: requeue or purge some, or raise store.max_dead_letters or "
            + "store.max_dead_letter_bytes"
    }
}
