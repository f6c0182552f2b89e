/// The kind of event store that settings select (Behaviour Q1, `store.kind`).
public enum StoreKind: String, Sendable, CaseIterable {
    /// A log of segments. Segments are written in order, and the files of old ones are reused.
    case log
    /// An SQLite database, one row an event.
    case sqlite
}
