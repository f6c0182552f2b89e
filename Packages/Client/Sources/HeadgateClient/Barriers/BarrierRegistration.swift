import HeadgateData

/// A barrier that a client puts before dispatchers (Behaviour B29).
public struct BarrierRegistration: Sendable, Equatable {
    /// Its id, by which lists show it.
    public var id: String
    /// Its state for all its scopes.
    public var state: RegisteredBarrier.State
    /// `all`, or the ids of the dispatchers before which it stands; none switches it off; nil is `all`.
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
