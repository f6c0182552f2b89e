/// What a machine's network connection is made of (Behaviour B21).
public enum ConnectionKind: String, CaseIterable, Sendable {
    case ethernet
    case wifi
    /// A mobile network.
    case cellular
    /// Something else, or nobody knows what.
    case other
}
