/// What a barrier says about the way to a dispatcher (Behaviour B1).
public enum BarrierState: String, CaseIterable, Sendable {
    /// Dispatches may go on.
    case open
    /// Dispatches wait.
    case closed
}
