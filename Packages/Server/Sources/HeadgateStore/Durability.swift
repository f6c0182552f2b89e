/// The failures that an acknowledged event survives (Behaviour Q5).
public enum Durability: String, CaseIterable, Sendable {
    /// The event survives a power failure.
    case full
    /// The event survives the end of the process, but not a power failure.
    case normal
    /// The event is lost at the end of the process.
    case memory
}
