import HeadgateData

/// A barrier of this side's as it was set last, to be registered so again on each connection (Behaviour B29).
struct OwnBarrier {
    /// What was said of the way to a dispatcher.
    private struct Statement {
        var state: RegisteredBarrier.State
        var reason: String?

        mutating func apply(_ change: BarrierChange) {
            if let state = change.state { self = Statement(state: state) }
            reason = change.reason ?? reason
        }
    }

    /// The call that stands for it.
    let call: ClientConnection.Call
    private var registration: BarrierRegistration
    private var reason: String?
    /// What was said of single dispatchers, in the order in which it was said first.
    private var exceptions: [(dispatcher: String, statement: Statement)] = []

    init(_ registration: BarrierRegistration, call: ClientConnection.Call) {
        self.registration = registration
        self.call = call
    }

    /// Whether it is gone without a connection.
    var endsWithConnection: Bool {
        registration.onDisconnect ?? .unregister == .unregister
    }

    /// The params of `barrier.register`.
    var params: DataObject { registration.params }

    /// What is to be set behind the registration, since that cannot say it.
    var further: [BarrierChange] {
        let general = reason.map { [BarrierChange(reason: $0)] } ?? []
        return general
            + exceptions.map { BarrierChange($1.state, reason: $1.reason, dispatcher: $0) }
    }

    /// Takes in a change as the daemon does.
    mutating func apply(_ change: BarrierChange) {
        registration.isFlushable = change.isFlushable ?? registration.isFlushable
        guard let dispatcher = change.dispatcher else { return applyToAll(change) }
        guard change.state != nil || change.reason != nil else { return }
        let place = exceptions.firstIndex { $0.dispatcher == dispatcher }
        var statement = place.map { exceptions[$0].statement } ?? Statement(state: registration.state, reason: reason)
        statement.apply(change)
        if let place {
            exceptions[place].statement = statement
        } else {
            exceptions.append((dispatcher, statement))
        }
    }

    /// The daemon knows of no such dispatcher: nothing is said of it.
    mutating func forget(_ dispatcher: String) {
        exceptions.removeAll { $0.dispatcher == dispatcher }
    }

    private mutating func applyToAll(_ change: BarrierChange) {
        if change.state != nil { exceptions = [] }
        var statement = Statement(state: registration.state, reason: reason)
        statement.apply(change)
        registration.state = statement.state
        reason = statement.reason
    }
}
