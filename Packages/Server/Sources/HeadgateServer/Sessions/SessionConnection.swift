import HeadgateTransport

/// A session's connection to its client. On a socket it is a ``Connection``. A simulation has its own.
///
/// The connection calls ``Session/took(_:)`` and the methods beside it, as ``ConnectionHandler`` describes for sockets.
protocol SessionConnection: AnyObject {
    /// The credentials of the client's process.
    var peer: PeerCredentials { get }
    /// A Boolean value that says whether the connection is open.
    var isOpen: Bool { get }
    /// A Boolean value that says whether output may still reach the client.
    var isWritable: Bool { get }
    /// True if the client has closed the connection, also before the connection reports it.
    var hasHungUp: Bool { get }
    /// The size of the output that the client has not read, in bytes.
    var outputBytes: Int { get }
    /// The time at which output last moved, in nanoseconds of the scheduler's monotonic clock.
    var lastOutputProgress: Int64 { get }

    /// Starts to read and to report to the session, until the connection has closed.
    func begin(_ session: Session)
    /// Stops reading. The connection still reports that the client has disconnected.
    func pauseReading()
    /// Continues to read.
    func resumeReading()
    /// Appends bytes to the output, which is sent at the end of the turn.
    func write(_ bytes: [UInt8])
    /// Closes the connection at once.
    func close()
    /// Stops reading, and closes the connection when the client has read all output.
    func closeAfterFlush()
}

extension SessionConnection {
    /// A connection without a socket reports the loss of its client at once.
    var hasHungUp: Bool { !isWritable }
}

extension Connection: SessionConnection {
    func begin(_ session: Session) {
        start(session)
    }
}
