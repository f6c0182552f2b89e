import HeadgateData
import HeadgateWire

extension HeadgateClient {
    /// Registers a barrier, and waits until the daemon has it (Behaviour B29).
    ///
    /// The client owns the barrier, and only the owner changes it. It lasts until it is unregistered, or as long as
    /// the client lives. After a reconnect the client registers it again as it was last set. It replaces an earlier
    /// barrier of the same id of this client.
    /// - Parameters:
    ///   - id: its id in lists.
    ///   - state: its state for its whole scope.
    ///   - scopes: `all`, or the ids of the dispatchers that it blocks. An empty array switches it off; nil is `all`.
    ///   - flushable: true if a flush passes it while it is closed; nil is true.
    ///   - onDisconnect: its state while this client is not connected; nil has the daemon unregister it.
    ///   - deadline: the longest wait; nil waits for ever.
    /// - Throws: ``ClientError``; `refused` with the reason `conflict` if the id belongs to another client.
    public func barrier(
        _ id: String, _ state: RegisteredBarrier.State, scopes: [String]? = nil, flushable: Bool? = nil,
        onDisconnect: RegisteredBarrier.OnDisconnect? = nil, deadline: Duration? = nil
    ) async throws -> RegisteredBarrier {
        let registration = BarrierRegistration(
            id, state, scopes: scopes, isFlushable: flushable, onDisconnect: onDisconnect)
        try await begin { $0.registerBarrier($1, registration, deadline: deadline, $2) }
        return RegisteredBarrier(id: id, client: self)
    }

    /// Unregisters a barrier, with `force` also that of another owner, which is for operators (Behaviour B29).
    public func unregisterBarrier(_ id: String, force: Bool = false, deadline: Duration? = nil) async throws {
        if connection.forgetBarrier(id) { return }
        try await ask(nothing) { $0.unregisterBarrier($1, id, force: force, deadline: deadline, $2) }
    }

    /// Changes a barrier of this client by its id, as ``RegisteredBarrier`` does.
    public func setBarrier(_ id: String, _ change: BarrierChange, deadline: Duration? = nil) async throws {
        try await ask(nothing) { $0.setBarrier($1, id, change, deadline: deadline, $2) }
    }

    /// Reads an answer without members.
    private func nothing(_ answer: JSONView) {}
}

/// A barrier that this client registered (Behaviour B29). Any number of tasks may use it.
///
/// It lasts until ``unregister(deadline:)``, or as long as the client lives. After a reconnect the client registers
/// it again as it was last set. ``OnDisconnect`` is its state in between.
public struct RegisteredBarrier: Sendable {
    /// The state of a barrier for a dispatcher (Behaviour B1).
    public enum State: String, Sendable, CaseIterable {
        /// Events pass.
        case open
        /// Events wait.
        case closed
    }

    /// The state of a barrier while its client is not connected (Behaviour B29).
    public enum OnDisconnect: String, Sendable, CaseIterable {
        /// The daemon unregisters the barrier.
        case unregister
        /// The barrier stays and opens.
        case open
        /// The barrier stays and closes.
        case close
        /// The barrier stays as it is.
        case keep
    }

    /// The barrier's id in lists.
    public let id: String
    let client: HeadgateClient

    /// Opens or closes the barrier, for all its dispatchers or for one.
    ///
    /// The client also registers this state on later connections if this call fails with ``ClientError/disconnected``
    /// or is cancelled.
    /// - Parameters:
    ///   - state: a state for all dispatchers replaces those for single ones.
    ///   - dispatcher: the dispatcher whose state is set; nil is all.
    ///   - reason: a text for people.
    ///   - deadline: the longest wait for the daemon; nil waits for ever.
    public func set(
        _ state: State, for dispatcher: String? = nil, reason: String? = nil, deadline: Duration? = nil
    ) async throws {
        try await change(BarrierChange(state, reason: reason, dispatcher: dispatcher), deadline: deadline)
    }

    /// Sets whether a flush passes the barrier while it is closed (Behaviour B2).
    public func setFlushable(_ isFlushable: Bool, deadline: Duration? = nil) async throws {
        try await change(BarrierChange(isFlushable: isFlushable), deadline: deadline)
    }

    /// Changes several members at once.
    public func change(_ change: BarrierChange, deadline: Duration? = nil) async throws {
        try await client.setBarrier(id, change, deadline: deadline)
    }

    /// Unregisters the barrier.
    public func unregister(deadline: Duration? = nil) async throws {
        try await client.unregisterBarrier(id, deadline: deadline)
    }
}

/// The members of a barrier to register (Behaviour B29).
public struct BarrierRegistration: Sendable, Equatable {
    /// The barrier's id in lists.
    public var id: String
    /// The state for the whole scope.
    public var state: RegisteredBarrier.State
    /// The ids of the dispatchers that it blocks, or `all`. An empty array switches it off; nil is `all`.
    public var scopes: [String]?
    /// True if a flush passes it while it is closed; nil is true.
    public var isFlushable: Bool?
    /// The state while this client is not connected; nil has the daemon unregister it.
    public var onDisconnect: RegisteredBarrier.OnDisconnect?

    /// Creates a registration. For nil the daemon uses its default.
    public init(
        _ id: String, _ state: RegisteredBarrier.State, scopes: [String]? = nil, isFlushable: Bool? = nil,
        onDisconnect: RegisteredBarrier.OnDisconnect? = nil
    ) {
        self.id = id
        self.state = state
        self.scopes = scopes
        self.isFlushable = isFlushable
        self.onDisconnect = onDisconnect
    }

    /// The params of `barrier.register`.
    var params: DataObject {
        var params: DataObject = ["id": .string(id), "state": .string(state.rawValue)]
        params["scopes"] = scopes.map { .array($0.map { .string($0) }) }
        params["flushable"] = isFlushable.map { .bool($0) }
        params["on_disconnect"] = onDisconnect.map { .string($0.rawValue) }
        return params
    }
}

/// A change of a barrier by its owner. Members that are nil stay as they are (Behaviour B29).
public struct BarrierChange: Sendable, Equatable {
    /// The new state. A state for all dispatchers replaces those for single ones.
    public var state: RegisteredBarrier.State?
    /// The reason, for people. A new state without a reason has none.
    public var reason: String?
    /// The dispatcher whose state and reason change; nil is all.
    public var dispatcher: String?
    /// True if a flush passes the barrier while it is closed. It counts for the whole barrier.
    public var isFlushable: Bool?

    /// Creates a change of the given members.
    public init(
        _ state: RegisteredBarrier.State? = nil, reason: String? = nil, dispatcher: String? = nil,
        isFlushable: Bool? = nil
    ) {
        self.state = state
        self.reason = reason
        self.dispatcher = dispatcher
        self.isFlushable = isFlushable
    }

    /// The params of `barrier.set`.
    func params(of barrier: String) -> DataObject {
        var params: DataObject = ["id": .string(barrier)]
        params["state"] = state.map { .string($0.rawValue) }
        params["flushable"] = isFlushable.map { .bool($0) }
        params["dispatcher"] = dispatcher.map { .string($0) }
        params["reason"] = reason.map { .string($0) }
        return params
    }
}
