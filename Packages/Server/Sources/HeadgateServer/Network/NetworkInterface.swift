import HeadgateCore

/// A network interface, as far as it matters for being connected.
struct NetworkInterface: Equatable {
    var name: String
    var isLoopback: Bool
    /// Switched on.
    var isUp: Bool
    var hasCarrier: Bool
    var kind: ConnectionKind

    var isRunning: Bool { isUp && hasCarrier }
}
