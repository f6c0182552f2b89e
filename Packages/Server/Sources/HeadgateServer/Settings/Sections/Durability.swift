/// How safe an event is when it is acknowledged (Behaviour Q5).
public enum Durability: String, CaseIterable, Sendable {
    /// It survives a power failure.
    case full
    /// It survives the end of the process, not of the machine's power.
    case normal
    /// It is gone with the process.
    case memory
}
