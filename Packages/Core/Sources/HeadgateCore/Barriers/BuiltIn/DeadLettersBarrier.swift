/// Closed while an event of the dispatcher would become a dead letter for which there is no room: one stands before each
/// dispatcher, never flushable (Behaviour D10).
public final class DeadLettersBarrier: DescribedBarrier {
    static let kind = "DeadLettersBarrier"

    @StateSubject(.open) private var state: ObservableState<BarrierState>
    /// Bytes of the event that waits for room; nil while the barrier is open.
    private(set) var needed: Int?

    init() {}

    /// Closes until there is room for a letter of so many bytes.
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
        return "there is no room for more dead letters: requeue or purge some, or raise store.max_dead_letters or "
            + "store.max_dead_letter_bytes"
    }
}
