import HeadgateData
import HeadgateTransport

/// The clocks, the timers and the sockets of a ``ClientConnection``. Event loops have them; the simulation replaces
/// them.
protocol ClientLoop: AnyObject {
    /// The monotonic clock in nanoseconds.
    var monotonicNow: Int64 { get }
    var wallNow: Timestamp { get }
    /// Creates a timer that calls `action`. It is not armed.
    func timer(_ action: @escaping () -> Void) -> any ClientTimer
    /// Connects to a socket.
    func connect(to path: String) throws(TransportError) -> any LinkConnection
}

/// A timer with the functions of ``LoopTimer``.
protocol ClientTimer: AnyObject {
    /// The moment at which it fires, in nanoseconds of the monotonic clock; nil while it is not armed.
    var deadline: Int64? { get }
    /// Arms it for a moment, in place of the earlier one.
    func arm(at moment: Int64)
    /// Disarms it.
    func cancel()
}

/// The functions of a connection that a ``Link`` uses.
protocol LinkConnection: AnyObject {
    /// Begins to read for a link, and calls its methods with the input.
    func begin(_ link: Link)
    /// Writes bytes, or keeps them until the socket takes them.
    func write(_ bytes: [UInt8])
    /// Closes the connection and drops what is not written.
    func close()
    /// Closes the connection once everything is written.
    func closeAfterFlush()
}

extension EventLoop: ClientLoop {
    func timer(_ action: @escaping () -> Void) -> any ClientTimer { LoopTimer(on: self, action) }

    func connect(to path: String) throws(TransportError) -> any LinkConnection {
        try Connection.connect(path: path, on: self)
    }
}

extension LoopTimer: ClientTimer {}

extension Connection: LinkConnection {
    func begin(_ link: Link) { start(link) }
}
