/// What is told of a board that this side serves (Protocol, `board.serve`; Behaviour A1).
public enum BoardNews {
    /// The daemon knows of it, for the first time or again.
    case began
    /// It is to be run; the request wants its answer: `complete`, or `fail`.
    case run(BoardActivation, DaemonRequest)
    /// The connection is gone, for this reason, and with it the runs that were not answered. The next one is looked for,
    /// on which the board is served again.
    case interrupted(ClientError)
    /// It is served no more: the daemon refused, did not come back in time, or the connection was closed. After `unserve`
    /// it is a `CancellationError`.
    case ended(any Error)
}

extension DaemonRequest {
    /// Says what came of a board's run.
    public func complete(_ outcome: BoardOutcome) {
        answer(outcome.object)
    }
}
