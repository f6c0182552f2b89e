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
