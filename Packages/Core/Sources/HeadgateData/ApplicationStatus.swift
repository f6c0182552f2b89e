/// What a client says of the program around it (Protocol, `application.status`; Behaviour B26, F5).
public enum ApplicationStatus: String, CaseIterable, Sendable {
    /// Somebody is using it.
    case foreground
    /// Nobody is using it now.
    case background
    /// It is about to end.
    case exiting
}
