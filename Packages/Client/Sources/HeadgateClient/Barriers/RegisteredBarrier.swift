/// A barrier that this client has put before dispatchers (Behaviour B29), for any number of tasks at once.
///
/// It stands until ``unregister(deadline:)``, or as long as the client lives: a lost connection is made again, and the
/// barrier registered with it as it was set last. What it does meanwhile was said when it was registered
/// (``OnDisconnect``).
public struct RegisteredBarrier: Sendable {
    /// Whether a barrier lets a dispatcher's events through (Behaviour B1).
    public enum State: String, Sendable, CaseIterable {
        /// It does.
        case open
        /// It does not.
        case closed
    }

    /// What becomes of a barrier while its client is not connected (Behaviour B29).
    public enum OnDisconnect: String, Sendable, CaseIterable {
        /// It is gone.
        case unregister
        /// It stays, and opens.
        case open
        /// It stays, and closes.
        case close
        /// It stays as it is.
        case keep
    }

    /// Its id.
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
