/// Where a program with a user interface is (Protocol, `application.status`; Behaviour B26, F5).
public enum ApplicationStatus: String, Sendable, CaseIterable {
    /// People look at it.
    case foreground
    /// Nobody looks at it.
    case background
    /// It is about to end.
    case exiting
}
