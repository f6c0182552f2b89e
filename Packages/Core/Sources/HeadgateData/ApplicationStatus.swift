/// What a client says of the program around it (Protocol, `application.status`; Behaviour B26, F5).
public enum ApplicationStatus: String, CaseIterable, Sendable {
    /// Somebody is using the program.
    case foreground
    /// Nobody is using the program now.
    case background
    /// The program is about to end.
    case exiting
}
