/// The status of the program that a client reports (Protocol, `application.status`; Behaviour B26, F5).
public enum ApplicationStatus: String, CaseIterable, Sendable {
    /// A person is using the program.
    case foreground
    /// The program is running, but no person is using it.
    case background
    /// The program is about to end.
    case exiting
}
