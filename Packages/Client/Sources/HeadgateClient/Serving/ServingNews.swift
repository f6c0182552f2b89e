/// What is told of work or a board that a task serves, besides what there is to do.
public enum ServingNews: Sendable, Equatable {
    /// The daemon knows of it, for the first time or again.
    case began
    /// The connection is gone, for this reason. The next one is looked for.
    case interrupted(ClientError)
}
