import HeadgateData

/// A barrier of this client as it was last set, for its registration on the next connection (Behaviour B29).
struct OwnBarrier {
    /// The state and the reason for a dispatcher.
    private struct Statement {
        var state: RegisteredBarrier.State
        var reason: String?

        mutating func apply(_ change: BarrierChange) {
            if let state = change.state { self = Statement(state: state) }
            reason = change.reason ?? reason
        }
    }

    /// The persistent call of its registration.
    let call: ClientCall
    private var registration: BarrierRegistration
    private var reason: String?
    /// The states for single dispatchers, in the order in which they were first set.
    private var exceptions: [(dispatcher: String, statement: Statement)] = []
    /// The changes whose outcome is unknown, in order.
    private var attempts: [(call: ClientCall, change: BarrierChange)] = []

    init(_ registration: BarrierRegistration, call: ClientCall) {
        self.registration = registration
        self.call = call
    }

    /// True if the daemon removes the barrier when the connection ends.
    var endsWithConnection: Bool {
        registration.onDisconnect ?? .unregister == .unregister
    }

    /// The params of `barrier.register`.
    var params: DataObject { registration.params }

    /// The changes to send after the registration, which has no members for them.
    var further: [BarrierChange] {
        let general = reason.map { [BarrierChange(reason: $0)] } ?? []
        return general
            + exceptions.map { BarrierChange($1.state, reason: $1.reason, dispatcher: $0) } + attempts.map(\.change)
    }

    /// Adds a change that the daemon has not answered yet.
    mutating func attempt(_ change: BarrierChange, as call: ClientCall) {
        attempts.append((call, change))
    }

    /// Applies a change that the daemon granted. Earlier changes of the same members are dropped, whatever their
    /// outcome.
    mutating func grant(_ call: ClientCall) {
        guard let index = attempts.firstIndex(where: { $0.call == call }) else { return }
        let granted = attempts[index].change
        let earlier = attempts[..<index].filter { !granted.covers($0.change) }
        attempts = earlier + attempts[(index + 1)...]
        apply(granted)
    }

    /// Drops a change that the daemon refused.
    mutating func refuse(_ call: ClientCall) {
        attempts.removeAll { $0.call == call }
    }

    /// Applies a change as the daemon does.
    mutating func apply(_ change: BarrierChange) {
        registration.isFlushable = change.isFlushable ?? registration.isFlushable
        guard let dispatcher = change.dispatcher else { return applyToAll(change) }
        guard change.state != nil || change.reason != nil else { return }
        let index = exceptions.firstIndex { $0.dispatcher == dispatcher }
        var statement = index.map { exceptions[$0].statement } ?? Statement(state: registration.state, reason: reason)
        statement.apply(change)
        if let index {
            exceptions[index].statement = statement
        } else {
            exceptions.append((dispatcher, statement))
        }
    }

    private mutating func applyToAll(_ change: BarrierChange) {
        if change.state != nil { exceptions = [] }
        var statement = Statement(state: registration.state, reason: reason)
        statement.apply(change)
        registration.state = statement.state
        reason = statement.reason
    }
}

extension BarrierChange {
    /// Returns true if this change, once granted, overrides every member of an earlier change.
    fileprivate func covers(_ earlier: BarrierChange) -> Bool {
        let isStateCovered = state != nil && (dispatcher == nil || dispatcher == earlier.dispatcher)
        let saysOfState = earlier.state != nil || earlier.reason != nil
        return (isStateCovered || !saysOfState) && (isFlushable != nil || earlier.isFlushable == nil)
    }
}
