/// The kind of a possible change at a gate. Watchers read the state after it (Behaviour B10).
public enum GateChange: Sendable {
    /// A dispatcher may have become open or blocked: through a barrier's state, or a flush.
    case blockedState
    /// A barrier was added, removed or changed.
    case barriers
    /// A dispatcher's counters, or the progress of an erasure, may have changed.
    case progress
}
