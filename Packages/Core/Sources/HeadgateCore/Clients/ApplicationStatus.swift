/// What a client says about itself (`application.status`).
public enum ApplicationStatus: String, CaseIterable, Sendable {
    /// Somebody is using it.
    case foreground
    /// Nobody is using it now.
    case background
    /// It is about to end.
    case exiting
}
