/// What is done when a turn of the event loop ends, in this order. What a phase adds for a later one is done in the same
/// turn; what it adds for itself or an earlier one comes in another round.
public enum TurnPhase: Int, CaseIterable, Sendable {
    /// Those are told who wait for something that is certain by now. They may tell of it what is news to others.
    case facts
    /// Dispatchers look at what may be sent.
    case dispatch
    /// What was accepted is committed, and what was settled is written down.
    case commit
    /// Those who watch are told what has changed.
    case watch
    /// Output goes out, in bulk.
    case write
}
