/// The groups of methods, which the settings grant to users (Behaviour X1).
enum MethodGroup: String, CaseIterable, Sendable {
    /// The methods that every connected client may call.
    case track
    /// The methods that read the service's state and numbers, but no contents of events.
    case observe
    /// The methods that read the contents of events.
    case read
    /// The methods that operate the service. None of them changes the settings.
    case control
    /// The methods for workers and for processes that serve boards.
    case serve
    /// The method that changes the settings. The right to call it is equivalent to being the daemon's user, because
    /// settings name files to read and to write.
    case configure
}
