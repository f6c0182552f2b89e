import HeadgateCore

/// A barrier that a test opens and closes, for all its dispatchers or for one.
public final class SwitchBarrier: Barrier {
    private let states: StateSubject<[String: BarrierState]>
    private let general: StateSubject<BarrierState?>
    private let flushability: StateSubject<Bool?>

    /// - Parameters:
    ///   - state: the state; nil if the barrier has not given one (Behaviour B3).
    ///   - isFlushable: the flushability; nil if the barrier has not given it.
    public init(_ state: BarrierState?, isFlushable: Bool? = true) {
        states = StateSubject([:])
        general = StateSubject(state)
        flushability = StateSubject(isFlushable)
    }

    /// Sets the state for one dispatcher, or for all without their own state.
    public func set(_ state: BarrierState, for dispatcherId: String? = nil) {
        guard let dispatcherId else {
            general.value = state
            return
        }
        states.value[dispatcherId] = state
    }

    public func setFlushable(_ isFlushable: Bool) {
        flushability.value = isFlushable
    }

    public func onState(for dispatcherId: String) -> Observable<BarrierState> {
        Observable { [states, general] observer in
            let notify = {
                guard let state = states.value[dispatcherId] ?? general.value else { return }
                observer(state)
            }
            let subscriptions = [
                general.wrappedValue.subscribe { _ in notify() }, states.wrappedValue.subscribe { _ in notify() },
            ]
            return DisposeAction { for subscription in subscriptions { subscription.dispose() } }
        }
    }

    public var isFlushable: Observable<Bool> {
        Observable { [flushability] observer in
            flushability.wrappedValue.subscribe { value in
                if let value { observer(value) }
            }
        }
    }
}
