/// How much one connection may ask for (Behaviour X2).
public struct ActivationLimits: Sendable, Equatable {
    /// Boards that one connection may serve.
    public var boardsPerConnection = 1024
    /// Activations that one connection may have under way.
    public var activationsPerConnection = 1024
    /// How deep barriers may stand before barriers; the activated board is 0 (Behaviour A8).
    public var depth = 8

    public init() {}
}

/// A connection may have so many activations under way, and has them.
public struct TooManyActivations: Error, Sendable, Equatable {
    public let limit: Int
}
