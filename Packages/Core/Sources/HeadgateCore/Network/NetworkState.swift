/// Whether the machine has a network connection, and of which kind (Behaviour B20, B21).
public enum NetworkState: Hashable, Sendable {
    /// Nobody has looked yet, or nobody can tell.
    case unknown
    /// There is no connection.
    case disconnected
    /// There is one.
    case connected(ConnectionKind)

    /// The kind of the connection; nil without one.
    public var kind: ConnectionKind? {
        if case .connected(let kind) = self { kind } else { nil }
    }

    /// The word for the state: `unknown`, `disconnected` or `connected`.
    public var word: String {
        switch self {
        case .unknown: "unknown"
        case .disconnected: "disconnected"
        case .connected: "connected"
        }
    }
}

/// What a machine's network connection is made of (Behaviour B21).
public enum ConnectionKind: String, CaseIterable, Sendable {
    case ethernet
    case wifi
    /// A mobile network.
    case cellular
    /// Something else, or nobody knows what.
    case other
}

/// Tells when the network comes back. That it is known for the first time is no return. Pure.
struct NetworkReturn {
    private var isAway = false

    /// Takes in how things stand, and says whether the network has just come back.
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
