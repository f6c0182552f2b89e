/// A barrier that has to find its state out, and may not know it (Behaviour B3) or fail at it (Behaviour B9).
public protocol UncertainBarrier: Barrier {
    /// What is found for one dispatcher, over time.
    func onFinding(for dispatcherId: String) -> Observable<BarrierFinding>
}

/// What came of finding a barrier's state out.
public enum BarrierFinding {
    /// It is this.
    case state(BarrierState)
    /// It is not known now: the barrier counts as closed and not flushable, and is shown as `waiting`.
    case unknown
    /// Finding it out failed: that is logged and counted, and the state becomes the configured `on_error`.
    case failed(any Error)

    /// What `calculate` gives, or that it threw.
    public init(_ calculate: () throws -> BarrierState) {
        do {
            self = .state(try calculate())
        } catch {
            self = .failed(error)
        }
    }

    /// The state, where it was found.
    public var state: BarrierState? {
        if case .state(let state) = self { state } else { nil }
    }
}

extension UncertainBarrier {
    /// The states among the findings.
    public func onState(for dispatcherId: String) -> Observable<BarrierState> {
        onFinding(for: dispatcherId).compactMap(\.state)
    }
}
