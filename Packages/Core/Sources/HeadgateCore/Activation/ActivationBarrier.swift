/// A board that must complete with `done: true` before another board is activated (Behaviour A2).
public struct ActivationBarrier: Sendable, Hashable {
    /// The board that must complete.
    public var board: String
    /// The option that decides which activations share a cycle (Behaviour A3).
    public var option = Option.void
    /// The scope within which activations share a cycle (Behaviour A3).
    public var scope = Scope.main
    /// The time limit of a cycle (Behaviour A5).
    public var timeout = Duration.seconds(30)
    /// The action for waiting activations when a cycle times out (Behaviour A5).
    public var onTimeout = OnTimeout.cancel
    /// The time for which a completion is valid for later activations; nil for none (Behaviour A4).
    public var sticky: Duration?

    /// The activations that share a cycle.
    public enum Option: String, Sendable, CaseIterable {
        /// All activations.
        case void
        /// Activations with the same input, as a JSON value.
        case unique
        /// None: each activation has its own cycle.
        case each
    }

    /// The scope of a cycle.
    public enum Scope: String, Sendable, CaseIterable {
        /// One mainboard.
        case main
        /// The whole service.
        case global
    }

    /// The action when a cycle times out.
    public enum OnTimeout: String, Sendable, CaseIterable {
        /// The waiting activations are cancelled.
        case cancel
        /// The waiting activations continue as if the barrier had completed.
        case pass
    }

    public init(board: String) {
        self.board = board
    }
}
