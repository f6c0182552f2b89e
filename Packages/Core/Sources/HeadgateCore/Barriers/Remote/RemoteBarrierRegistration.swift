/// What a client says of a barrier when it registers it (Behaviour B29).
public struct RemoteBarrierRegistration: Sendable, Equatable {
    public var scopes: [BarrierScope]
    /// Its state for all of them.
    public var state: BarrierState
    public var isFlushable: Bool
    public var onDisconnect: OnDisconnect

    /// What becomes of a barrier when its owner disconnects.
    public enum OnDisconnect: String, CaseIterable, Sendable {
        /// It is taken away.
        case unregister
        /// It stays, open.
        case open
        /// It stays, closed.
        case close
        /// It stays as it is.
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
