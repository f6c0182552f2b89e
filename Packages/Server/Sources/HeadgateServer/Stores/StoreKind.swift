/// The kind of event store that settings ask for (Behaviour Q1, `store.kind`).
public enum StoreKind: String, Sendable, CaseIterable {
    /// A log of segments, written one behind the other and used again.
    case log
    /// An SQLite database, one row an event.
    case sqlite
}
