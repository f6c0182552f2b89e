import HeadgateTransport

/// What a session needs of its client's connection. On a socket that is a ``Connection``; a simulation brings one of its own.
///
/// It tells the session what happens by ``Session/took(_:)`` and the methods beside it, as ``ConnectionHandler`` has it for
/// sockets.
protocol SessionConnection: AnyObject {
    /// Who is at the other end.
    var peer: PeerCredentials { get }
    /// Whether it has not been closed.
    var isOpen: Bool { get }
    /// Whether what is written may still reach the client.
    var isWritable: Bool { get }
    /// How many bytes are written and not yet taken.
    var outputBytes: Int { get }
    /// When output last moved, in nanoseconds of the scheduler's monotonic clock.
    var lastOutputProgress: Int64 { get }

    /// Begins to read, and to tell the session what happens, until it has closed.
    func begin(_ session: Session)
    /// Stops reading. That the client is gone is told all the same.
    func pauseReading()
    /// Reads on.
    func resumeReading()
    /// Appends bytes to the output; they go out at the end of the turn.
    func write(_ bytes: [UInt8])
    /// Closes at once.
    func close()
    /// Closes when all output has been taken, and reads no more.
    func closeAfterFlush()
}

extension Connection: SessionConnection {
    func begin(_ session: Session) {
        start(session)
    }
}
