import HeadgateData

/// Says of an event whether something is to be done with it: whether a dispatcher gets it (Behaviour P3, S5), or whether
/// a transformation touches it (Behaviour P4).
public indirect enum Rule: Sendable, Equatable {
    /// True when the condition is.
    case just(Condition)
    /// True when all are; so is an empty one.
    case and([Rule])
    /// True when one is; an empty one is false.
    case or([Rule])
    /// True when the other is not: plain logic, also where a condition is false because it cannot be evaluated.
    case not(Rule)
    /// True when the load rule of this id is.
    case reference(String)
}
