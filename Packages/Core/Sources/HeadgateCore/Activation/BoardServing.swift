/// How a process serves a board.
public struct BoardServing: Sendable, Equatable {
    /// What has to complete before the board is activated (Behaviour A2).
    public var barrier: ActivationBarrier?
    /// Whether it asks that no gateway stand before it (Behaviour A7).
    public var bypassesGateway = false

    public init(barrier: ActivationBarrier? = nil, bypassesGateway: Bool = false) {
        self.barrier = barrier
        self.bypassesGateway = bypassesGateway
    }
}

/// Why a process may not serve a board.
public enum ServingRefusal: Error, Sendable, Equatable {
    /// Others serve the board, and said something else of its barrier or its gateway.
    case differs
    /// The boards would wait for each other in this circle (Behaviour A8).
    case circle([String])
    /// The connection serves as many boards as it may.
    case tooMany(Int)
}
