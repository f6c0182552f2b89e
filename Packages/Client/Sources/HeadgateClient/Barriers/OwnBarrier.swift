import HeadgateData
import HeadgateWire

extension ClientConnection {
    /// Puts a barrier before dispatchers, until ``unregisterBarrier(_:force:deadline:_:)`` (Behaviour B29). When the
    /// connection is lost it is made again, and the barrier registered with it as it was set last. One of the same id
    /// that was registered here before is replaced when the daemon grants the new one; if it does not, the former stays.
    /// - Parameters:
    ///   - registration: what is asked for.
    ///   - deadline: how long it may take until it begins; nil is for ever.
    ///   - tell: told on the loop, in order; `ended` comes once and last.
    /// - Returns: the call, for ``abandon(_:)``, which forgets the barrier and leaves it to the daemon.
    @discardableResult
    public func registerBarrier(
        _ registration: BarrierRegistration, deadline: Duration? = nil, _ tell: @escaping (StandingReport) -> Void
    ) -> Call {
        let call = reserve()
        registerBarrier(call, registration, deadline: deadline, tell)
        return call
    }

    func registerBarrier(
        _ call: Call, _ registration: BarrierRegistration, deadline: Duration?,
        _ tell: @escaping (StandingReport) -> Void
    ) {
        let id = registration.id
        if let former = barrierEndings.removeValue(forKey: id) { abandon(former.call) }
        let new = OwnBarrier(registration, call: call)
        let hasFormer = barriers[id] != nil
        if !hasFormer { barriers[id] = new }
        let giveBack: () -> Void = { [weak self] in self?.giveBack(new, named: id) }
        stand(
            call, "barrier.register", registration.params, as: "barrier \(id)", deadline: deadline, giveBack: giveBack
        ) { [weak self] news in
            self?.note(news, of: new, named: id)
            tell(StandingReport(news))
        }
    }

    /// Nobody waits for a registration any more, and the daemon may grant it: it gets the former one again, or none.
    private func giveBack(_ new: OwnBarrier, named id: String) {
        guard let present = barriers[id] else { return }
        guard present.call == new.call else { return renew(present.call) }
        guard new.endsWithConnection else { return endBarrier(reserve(), id, deadline: nil) { _ in } }
        call("barrier.unregister", ["id": .string(id)]) { _ in }
    }

    /// A registration takes the place of the former one when it is granted, and at no other time: a refusal, or a deadline
    /// that passed, leaves the former one as it is.
    private func note(_ news: StandingNews, of new: OwnBarrier, named id: String) {
        let present = barriers[id]
        switch news {
        case .granted where present?.call != new.call:
            barriers[id] = new
            if let present { abandon(present.call) }
        case .ended where present?.call == new.call: barriers[id] = nil
        case .granted, .interrupted, .ended: return
        }
    }

    /// Says something anew of a barrier. One that was registered here is registered so on later connections, too, unless the
    /// daemon refuses the change.
    ///
    /// As long as it is not known what became of a change, it goes with the registration on each connection, behind what was
    /// granted: a connection that breaks meanwhile does not bring the old state back. A refusal is that of the change alone, and
    /// so is that with `conflict` while the daemon takes the barrier for that of the connection before.
    @discardableResult
    public func setBarrier(
        _ id: String, _ change: BarrierChange, deadline: Duration? = nil, _ completion: @escaping Completion
    ) -> Call {
        let call = reserve()
        setBarrier(call, id, change, deadline: deadline, completion)
        return call
    }

    func setBarrier(
        _ call: Call, _ id: String, _ change: BarrierChange, deadline: Duration?, _ completion: @escaping Completion
    ) {
        let line = ClientConnection.line(call, "barrier.set", change.params(of: id))
        let own = barriers[id]?.call
        keep(id) { $0.attempt(change, as: call) }
        begin(call, line, isRepeatable: own != nil, deadline: deadline) { [weak self] result in
            switch result {
            case .success: self?.keep(id) { $0.grant(call) }
            case .failure(ClientError.refused(let error)) where error.reason == .conflict: break
            case .failure(ClientError.refused): self?.keep(id) { $0.refuse(call) }
            case .failure: break
            }
            completion(result)
        }
    }

    /// Takes a barrier away, with `force` also that of another owner (Behaviour B29). Whatever becomes of that, it is
    /// not registered again. One of this side's that stays when its connection is gone is taken away as soon as there is a
    /// connection again, whether somebody still waits for that or not.
    @discardableResult
    public func unregisterBarrier(
        _ id: String, force: Bool = false, deadline: Duration? = nil, _ completion: @escaping Completion
    ) -> Call {
        let call = reserve()
        unregisterBarrier(call, id, force: force, deadline: deadline, completion)
        return call
    }

    func unregisterBarrier(
        _ call: Call, _ id: String, force: Bool, deadline: Duration?, _ completion: @escaping Completion
    ) {
        let staying = barriers[id].flatMap { $0.endsWithConnection ? nil : $0.call }
        if let former = staying ?? barrierEndings.removeValue(forKey: id)?.call {
            barriers[id] = nil
            abandon(former)
            return endBarrier(call, id, deadline: deadline, completion)
        }
        var params: DataObject = ["id": .string(id)]
        if force { params["force"] = true }
        let line = ClientConnection.line(call, "barrier.unregister", params)
        let own = barriers[id]?.call
        begin(call, line, isRepeatable: own != nil, deadline: deadline) { [weak self] result in
            if let own { self?.abandon(own) }
            completion(result)
        }
    }

    /// Forgets a barrier of this side's that went with the connection, so that the daemon need not be asked.
    /// - Returns: whether it was one.
    func forgetBarrier(_ id: String) -> Bool {
        guard !isConnected, let barrier = barriers[id], barrier.endsWithConnection else { return false }
        abandon(barrier.call)
        return true
    }

    /// Changes what is known of a barrier of this side's, and how it is registered on the next connection.
    private func keep(_ id: String, _ body: (inout OwnBarrier) -> Void) {
        guard var barrier = barriers[id] else { return }
        body(&barrier)
        barriers[id] = barrier
        var lines = ClientConnection.line(barrier.call, "barrier.register", barrier.params)
        // All goes in one piece: nothing may slip through before the exceptions are said. Nobody waits for their
        // answers.
        for change in barrier.further {
            lines += ClientConnection.line(reserve(), "barrier.set", change.params(of: id))
        }
        self.change(barrier.call, to: lines)
    }
}

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
    /// Changes of which nobody knows yet whether the daemon grants them, in their order.
    private var attempts: [(call: ClientConnection.Call, change: BarrierChange)] = []

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
            + exceptions.map { BarrierChange($1.state, reason: $1.reason, dispatcher: $0) } + attempts.map(\.change)
    }

    /// A change is asked for.
    mutating func attempt(_ change: BarrierChange, as call: ClientConnection.Call) {
        attempts.append((call, change))
    }

    /// The daemon has granted a change. Earlier changes of the same things, of which it is not known what became of them, do
    /// not matter any more.
    mutating func grant(_ call: ClientConnection.Call) {
        guard let place = attempts.firstIndex(where: { $0.call == call }) else { return }
        let granted = attempts[place].change
        let earlier = attempts[..<place].filter { !granted.covers($0.change) }
        attempts = earlier + attempts[(place + 1)...]
        apply(granted)
    }

    /// The daemon has refused a change: nothing of it is said again.
    mutating func refuse(_ call: ClientConnection.Call) {
        attempts.removeAll { $0.call == call }
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

    private mutating func applyToAll(_ change: BarrierChange) {
        if change.state != nil { exceptions = [] }
        var statement = Statement(state: registration.state, reason: reason)
        statement.apply(change)
        registration.state = statement.state
        reason = statement.reason
    }
}

extension BarrierChange {
    /// Returns true if nothing of an earlier change is left once this one is granted.
    fileprivate func covers(_ earlier: BarrierChange) -> Bool {
        let isStateCovered = state != nil && (dispatcher == nil || dispatcher == earlier.dispatcher)
        let saysOfState = earlier.state != nil || earlier.reason != nil
        return (isStateCovered || !saysOfState) && (isFlushable != nil || earlier.isFlushable == nil)
    }
}
