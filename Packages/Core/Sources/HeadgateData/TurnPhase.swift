/// The phases at the end of a turn of the event loop, in the order in which they run. Work that a phase adds for a
/// later phase runs in the same round. Work that it adds for itself or an earlier phase runs in another round.
public enum TurnPhase: Int, CaseIterable, Sendable {
    /// Waiting clients get their results. They may report news for other clients.
    case facts
    /// Dispatchers are evaluated and start to send.
    case dispatch
    /// Accepted events are committed, and settlements are stored.
    case commit
    /// Watchers are notified of changes.
    case watch
    /// Output is written to sockets, in bulk.
    case write
}
