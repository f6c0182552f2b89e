import HeadgateCore

/// A server that stands behind its socket, as the program around it gets it (``ServerConfiguration/onStart``). It lives on
/// the server's worker.
public struct StartedServer {
    /// Barriers, flushes, dispatchers and everything else of the service.
    public let gate: Headgate
    /// The boards that the program serves and activates itself.
    public let boards: ProgramBoards
}
