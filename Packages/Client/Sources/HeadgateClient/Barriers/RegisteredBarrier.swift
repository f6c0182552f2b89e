import HeadgateData
import HeadgateWire

extension HeadgateClient {
    /// Puts a barrier before dispatchers, and waits until the daemon knows of it (Behaviour B29).
    ///
    /// The client owns it, and nobody else changes it. It stands until it is unregistered, or as long as the client
    /// lives: a lost connection is made again, and the barrier registered with it as it was set last. A barrier of the
    /// same id that this client has registered before is replaced.
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

/// A barrier that this client has put before dispatchers (Behaviour B29), for any number of tasks at once.
///
/// It stands until ``unregister(deadline:)``, or as long as the client lives: a lost connection is made again, and the
/// barrier registered with it as it was set last. What it does meanwhile was said when it was registered
/// (``OnDisconnect``).
public struct RegisteredBarrier: Sendable {
    /// Whether a barrier lets a dispatcher's events through (Behaviour B1).
    public enum State: String, Sendable, CaseIterable {
        /// The events get through.
        case open
        /// The events wait.
        case closed
    }

    /// What becomes of a barrier while its client is not connected (Behaviour B29).
    public enum OnDisconnect: String, Sendable, CaseIterable {
        /// The barrier is gone.
        case unregister
        /// The barrier stays, and opens.
        case open
        /// The barrier stays, and closes.
        case close
        /// The barrier stays as it is.
        case keep
    }

    /// The id by which lists show the barrier.
    public let id: String
    let client: HeadgateClient

    /// Opens or closes it, for all its dispatchers or for one.
    ///
    /// From the call on it is registered so on each connection, even when this fails with
    /// ``ClientError/disconnected`` or is cancelled.
    /// - Parameters:
    ///   - state: one for all dispatchers takes back what was said of single ones.
    ///   - dispatcher: the one of which it is said; nil is all.
    ///   - reason: why, for people.
    ///   - deadline: how long to wait for the daemon; nil is for ever.
    public func set(
        _ state: State, for dispatcher: String? = nil, reason: String? = nil, deadline: Duration? = nil
    ) async throws {
        try await change(BarrierChange(state, reason: reason, dispatcher: dispatcher), deadline: deadline)
    }

    /// Says whether a flush goes through while it is closed (Behaviour B2).
    public func setFlushable(_ isFlushable: Bool, deadline: Duration? = nil) async throws {
        try await change(BarrierChange(isFlushable: isFlushable), deadline: deadline)
    }

    /// Changes several things of it at once.
    public func change(_ change: BarrierChange, deadline: Duration? = nil) async throws {
        try await client.setBarrier(id, change, deadline: deadline)
    }

    /// Takes it away.
    public func unregister(deadline: Duration? = nil) async throws {
        try await client.unregisterBarrier(id, deadline: deadline)
    }
}

/// A barrier that a client puts before dispatchers (Behaviour B29).
public struct BarrierRegistration: Sendable, Equatable {
    /// Its id, by which lists show it.
    public var id: String
    /// Its state for all its scopes.
    public var state: RegisteredBarrier.State
    /// The ids of the dispatchers before which the barrier stands, or `all`; none switches it off; nil is `all`.
    public var scopes: [String]?
    /// Whether a flush goes through while it is closed; nil is yes.
    public var isFlushable: Bool?
    /// What becomes of it while this client is not connected; nil has it unregistered.
    public var onDisconnect: RegisteredBarrier.OnDisconnect?

    /// What is nil is as the daemon usually has it.
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

/// What the owner of a barrier says of it anew; nil is left as it is (Behaviour B29).
public struct BarrierChange: Sendable, Equatable {
    /// Its state. One that is said of all dispatchers takes back what was said of single ones.
    public var state: RegisteredBarrier.State?
    /// The reason, for people. A state that comes without one has none.
    public var reason: String?
    /// The one dispatcher that state and reason are said of; nil is all.
    public var dispatcher: String?
    /// Whether a flush goes through while it is closed. It is said of the whole barrier.
    public var isFlushable: Bool?

    /// A change of what is given.
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
