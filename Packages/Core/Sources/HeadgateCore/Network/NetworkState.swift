/// The machine's network connection (Behaviour B20, B21).
public enum NetworkState: Hashable, Sendable {
    /// The state has not been determined, or cannot be.
    case unknown
    /// There is no connection.
    case disconnected
    /// There is a connection of this kind.
    case connected(ConnectionKind)

    /// The kind of the connection; nil without one.
    public var kind: ConnectionKind? {
        if case .connected(let kind) = self { kind } else { nil }
    }

    /// The name of the state: `unknown`, `disconnected` or `connected`.
    public var word: String {
        switch self {
        case .unknown: "unknown"
        case .disconnected: "disconnected"
        case .connected: "connected"
        }
    }
}

/// The kind of a machine's network connection (Behaviour B21).
public enum ConnectionKind: String, CaseIterable, Sendable {
    case ethernet
    case wifi
    /// A mobile network.
    case cellular
    /// Another or unknown kind.
    case other
}

/// A detector of the network's return. The first known state is not a return. Pure.
struct NetworkReturn {
    private var isAway = false

    /// Records the state, and returns true if the network has just come back.
    mutating func isReturn(to state: NetworkState) -> Bool {
        switch state {
        case .disconnected: isAway = true
        case .connected where isAway:
            isAway = false
            return true
        case .connected, .unknown: break
        }
        return false
    }
}
