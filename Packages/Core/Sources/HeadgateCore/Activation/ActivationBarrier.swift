/// A board that has to complete with `done: true` before another is activated (Behaviour A2).
public struct ActivationBarrier: Sendable, Hashable {
    /// The board that has to complete.
    public var board: String
    /// Which activations share one cycle of it (Behaviour A3).
    public var option = Option.void
    /// How far one cycle reaches (Behaviour A3).
    public var scope = Scope.main
    /// How long a cycle may take (Behaviour A5).
    public var timeout = Duration.seconds(30)
    /// What becomes of who waits when that time is over (Behaviour A5).
    public var onTimeout = OnTimeout.cancel
    /// How long its completion counts for those who come later; nil: not at all (Behaviour A4).
    public var sticky: Duration?

    /// Which activations share a cycle.
    public enum Option: String, Sendable, CaseIterable {
        /// All.
        case void
        /// Those whose input is the same JSON value.
        case unique
        /// None: each has its own.
        case each
    }

    /// How far a cycle reaches.
    public enum Scope: String, Sendable, CaseIterable {
        /// Each mainboard has its own.
        case main
        /// There is one in the service.
        case global
    }

    /// What a barrier's time-out does.
    public enum OnTimeout: String, Sendable, CaseIterable {
        /// Who waits is cancelled.
        case cancel
        /// Who waits goes on as if the barrier had completed.
        case pass
    }

    public init(board: String) {
        self.board = board
    }
}
