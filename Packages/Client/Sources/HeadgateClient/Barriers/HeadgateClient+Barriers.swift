import HeadgateWire

extension HeadgateClient {
    /// Puts a barrier before dispatchers, and waits until the daemon knows of it (Behaviour B29).
    ///
    /// The client owns it, and nobody else changes it. It stands until it is unregistered, or as long as the client lives:
    /// a lost connection is made again, and the barrier registered with it as it was set last. A barrier of the same id
    /// that this client has registered before is replaced.
    /// - Parameters:
    ///   - id: its id, by which lists show it.
    ///   - state: its state for all its scopes.
    ///   - scopes: `all`, or the ids of the dispatchers before which it stands; none switches it off; nil is `all`.
    ///   - flushable: whether a flush goes through while it is closed; nil is yes.
    ///   - onDisconnect: what becomes of it while this client is not connected; nil has it unregistered.
    ///   - deadline: how long to wait; nil is for ever.
    /// - Throws: ``ClientError``; `refused` with the reason `conflict` when the id is another's.
    public func barrier(
        _ id: String, _ state: RegisteredBarrier.State, scopes: [String]? = nil, flushable: Bool? = nil,
        onDisconnect: RegisteredBarrier.OnDisconnect? = nil, deadline: Duration? = nil
    ) async throws -> RegisteredBarrier {
        let registration = BarrierRegistration(
            id, state, scopes: scopes, isFlushable: flushable, onDisconnect: onDisconnect)
        try await begin { $0.registerBarrier($1, registration, deadline: deadline, $2) }
        return RegisteredBarrier(id: id, client: self)
    }

    /// Takes a barrier away; with `force` that of another owner as well, which is for operators (Behaviour B29).
    public func unregisterBarrier(_ id: String, force: Bool = false, deadline: Duration? = nil) async throws {
        if connection.forgetBarrier(id) { return }
        try await ask(nothing) { $0.unregisterBarrier($1, id, force: force, deadline: deadline, $2) }
    }

    /// Says something anew of a barrier of this client's, by its id; ``RegisteredBarrier`` does the same.
    public func setBarrier(_ id: String, _ change: BarrierChange, deadline: Duration? = nil) async throws {
        try await ask(nothing) { $0.setBarrier($1, id, change, deadline: deadline, $2) }
    }

    /// What there is to read in an answer that says nothing.
    private func nothing(_ answer: JSONView) {}
}
