import HeadgateCore

/// A started server, as ``ServerConfiguration/onStart`` gets it. It lives on the server's scheduler.
public struct StartedServer {
    /// The service's gate: barriers, flushes, dispatchers and the queue.
    public let gate: Headgate
    /// The boards that the program serves and activates itself.
    public let boards: ProgramBoards
}
