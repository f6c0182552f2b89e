/// How an event store on disk keeps its events (Behaviour Q1, `store.kind`).
public enum StoreKind: String, Sendable, CaseIterable {
    /// A log of segments, written one behind the other and used again.
    case log
    /// One SQLite database.
    case sqlite
}
