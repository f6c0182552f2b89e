/// What may have changed at a gate, for those who then look (Behaviour B10).
public enum GateChange: Sendable {
    /// The way to a dispatcher: a barrier's state, or a flush.
    case way
    /// Which barriers there are, or what is told of them.
    case barriers
    /// A dispatcher's counters, at the end of a turn.
    case progress
}
