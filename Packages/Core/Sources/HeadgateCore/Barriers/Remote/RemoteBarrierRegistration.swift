/// A client's registration of a barrier (Behaviour B29).
public struct RemoteBarrierRegistration: Sendable, Equatable {
    public var scopes: [BarrierScope]
    /// The state for all scopes.
    public var state: BarrierState
    public var isFlushable: Bool
    public var onDisconnect: OnDisconnect

    /// The action when the owner disconnects.
    public enum OnDisconnect: String, CaseIterable, Sendable {
        /// The barrier is unregistered.
        case unregister
        /// The barrier stays, open.
        case open
        /// The barrier stays, closed.
        case close
        /// The barrier stays in its present state.
        case keep
    }

    public init(
        scopes: [BarrierScope] = [.all], state: BarrierState, isFlushable: Bool = true,
        onDisconnect: OnDisconnect = .unregister
    ) {
        self.scopes = scopes
        self.state = state
        self.isFlushable = isFlushable
        self.onDisconnect = onDisconnect
    }
}

/// A change of a barrier by its owner; nil members are left unchanged (Behaviour B29).
public struct RemoteBarrierChange: Sendable, Equatable {
    public var state: BarrierState?
    /// The flushability of the whole barrier, also if a dispatcher is named (Behaviour B2).
    public var isFlushable: Bool?
    /// The dispatcher that state and reason apply to; nil for all. A state for all replaces the states for single
    /// dispatchers.
    public var dispatcher: String?
    /// The reason, for people. A state without a reason removes the old one.
    public var reason: String?

    public init(
        state: BarrierState? = nil, isFlushable: Bool? = nil, dispatcher: String? = nil, reason: String? = nil
    ) {
        self.state = state
        self.isFlushable = isFlushable
        self.dispatcher = dispatcher
        self.reason = reason
    }
}
