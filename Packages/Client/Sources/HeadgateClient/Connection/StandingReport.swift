/// What is told of something that lasts as long as a connection, and is asked for again on the next one: a barrier of
/// this side's, a board that it serves, the status that it announced.
public enum StandingReport {
    /// The daemon has taken it, for the first time or again.
    case began
    /// The connection is gone, for this reason. The next one is looked for, on which it begins again.
    case interrupted(ClientError)
    /// It does not begin again: the daemon refused, did not come back in time, or the connection was closed. Told once
    /// and last; a `CancellationError` when this side has ended it.
    case ended(any Error)

    init(_ news: StandingNews) {
        switch news {
        case .granted: self = .began
        case .interrupted(let error): self = .interrupted(error)
        case .ended(let error): self = .ended(error)
        }
    }
}
