import HeadgateData
import HeadgateWire

extension ClientConnection {
    /// Registers a barrier, which lasts until ``unregisterBarrier(_:force:deadline:_:)`` (Behaviour B29). After a
    /// reconnect the client registers it again as it was last set. It replaces an earlier barrier of the same id when
    /// the daemon grants it. If the daemon refuses it, the earlier one stays.
    /// - Parameters:
    ///   - registration: the barrier.
    ///   - deadline: the longest time until the first grant; nil for none.
    ///   - notify: called on the loop, in order; `ended` comes once and last.
    /// - Returns: the call, for ``cancel(_:)``, which forgets the barrier and leaves it to the daemon.
    @discardableResult
    public func registerBarrier(
        _ registration: BarrierRegistration, deadline: Duration? = nil,
        _ notify: @escaping (PersistentCallReport) -> Void
    ) -> Call {
        let call = reserve()
        registerBarrier(call, registration, deadline: deadline, notify)
        return call
    }

    func registerBarrier(
        _ call: Call, _ registration: BarrierRegistration, deadline: Duration?,
        _ notify: @escaping (PersistentCallReport) -> Void
    ) {
        let id = registration.id
        if let former = barrierEndings.removeValue(forKey: id) { cancel(former.call) }
        let new = OwnBarrier(registration, call: call)
        let hasFormer = barriers[id] != nil
        if !hasFormer { barriers[id] = new }
        let giveBack: () -> Void = { [weak self] in self?.giveBack(new, named: id) }
        stand(
            call, "barrier.register", registration.params, as: "barrier \(id)", deadline: deadline, giveBack: giveBack
        ) { [weak self] news in
            self?.note(news, of: new, named: id)
            notify(PersistentCallReport(news))
        }
    }

    /// Undoes a registration that the daemon may still grant although its caller no longer waits: registers the earlier
    /// barrier again, or unregisters the new one.
    private func giveBack(_ new: OwnBarrier, named id: String) {
        guard let present = barriers[id] else { return }
        guard present.call == new.call else { return renew(present.call) }
        guard new.endsWithConnection else { return endBarrier(reserve(), id, deadline: nil) { _ in } }
        call("barrier.unregister", ["id": .string(id)]) { _ in }
    }

    /// Replaces the earlier registration when the daemon grants the new one, and at no other time. A refusal or a
    /// deadline leaves the earlier one as it is.
    private func note(_ news: PersistentCallNews, of new: OwnBarrier, named id: String) {
        let present = barriers[id]
        switch news {
        case .granted where present?.call != new.call:
            barriers[id] = new
            if let present { cancel(present.call) }
        case .ended where present?.call == new.call: barriers[id] = nil
        case .granted, .interrupted, .ended: return
        }
    }

    /// Changes a barrier. A barrier of this client is registered with the change on later connections, unless the
    /// daemon refuses the change.
    ///
    /// While the outcome of a change is unknown, the client sends it with the registration on each connection, after
    /// the granted state. So a lost connection does not bring the old state back. A refusal ends the change alone. A
    /// `conflict` does not: the daemon may still take the barrier for that of the earlier connection.
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

    /// Unregisters a barrier, with `force` also that of another owner (Behaviour B29). The client does not register
    /// it again, whatever the outcome. A barrier of this client that outlives its connection is unregistered on the
    /// next connection, even when the caller no longer waits.
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
            cancel(former)
            return endBarrier(call, id, deadline: deadline, completion)
        }
        var params: DataObject = ["id": .string(id)]
        if force { params["force"] = true }
        let line = ClientConnection.line(call, "barrier.unregister", params)
        let own = barriers[id]?.call
        begin(call, line, isRepeatable: own != nil, deadline: deadline) { [weak self] result in
            if let own { self?.cancel(own) }
            completion(result)
        }
    }

    /// Forgets a barrier of this client that ended with its connection.
    /// - Returns: true if it was such a barrier: the daemon need not be asked.
    func forgetBarrier(_ id: String) -> Bool {
        guard !isConnected, let barrier = barriers[id], barrier.endsWithConnection else { return false }
        cancel(barrier.call)
        return true
    }

    /// Changes the record of a barrier, and its registration on the next connection.
    private func keep(_ id: String, _ body: (inout OwnBarrier) -> Void) {
        guard var barrier = barriers[id] else { return }
        body(&barrier)
        barriers[id] = barrier
        var lines = ClientConnection.line(barrier.call, "barrier.register", barrier.params)
        // The lines go out together, so that no event passes before the exceptions are set. No caller waits for their
        // answers.
        for change in barrier.further {
            lines += ClientConnection.line(reserve(), "barrier.set", change.params(of: id))
        }
        self.change(barrier.call, to: lines)
    }
}

// MARK: Endings

extension ClientConnection {
    /// Unregisters a barrier that outlives its connection. On another connection the client first takes the barrier
    /// over, since only the owner may unregister it: it registers a barrier of this id that blocks no dispatcher and
    /// ends with that connection.
    /// - Parameters:
    ///   - call: the caller's call. The barrier is unregistered even when the caller no longer waits.
    ///   - deadline: how long the caller waits; nil waits for ever.
    func endBarrier(_ call: Call, _ id: String, deadline: Duration?, _ completion: @escaping Completion) {
        let timer = loop.timer { [weak self] in self?.complete(call, .failure(ClientError.timedOut)) }
        if let deadline { timer.arm(at: loop.monotonicNow + deadline.nanoseconds) }
        expect(call, completion)
        let ending = reserve()
        barrierEndings[id] = BarrierEnding(call: ending, timer: timer)
        let params: DataObject = ["id": .string(id)]
        stand(
            ending, "barrier.unregister", params, as: "the end of barrier \(id)",
            mostConflicts: BarrierEnding.mostConflicts
        ) { [weak self] news in
            switch news {
            case .granted(let answer):
                self?.complete(call, .success(answer))
                self?.cancel(ending)
            case .interrupted: break
            case .ended(let error):
                timer.cancel()
                self?.forgetEnding(ending, of: id, because: error)
                self?.complete(call, .failure(error))
            }
        }
        let openRegistration = BarrierRegistration(id, .open, scopes: [])
        change(
            ending,
            to: ClientConnection.line(ending, "barrier.register", openRegistration.params)
                + ClientConnection.line(reserve(), "barrier.unregister", params))
    }

    /// Forgets the ending if the daemon refused it. After any other error the next `unregister` uses it again.
    private func forgetEnding(_ call: Call, of id: String, because error: any Error) {
        guard barrierEndings[id]?.call == call else { return }
        switch error as? ClientError {
        case .refused, nil: barrierEndings[id] = nil
        default: break
        }
    }
}
