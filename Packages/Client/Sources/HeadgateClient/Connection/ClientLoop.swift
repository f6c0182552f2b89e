import HeadgateData
import HeadgateTransport

/// What a ``ClientConnection`` lives on: clocks, a timer, and the way to a socket. Event loops have all that; the simulation
/// brings its own.
protocol ClientLoop: AnyObject {
    /// Nanoseconds of the monotonic clock.
    var monotonicNow: Int64 { get }
    var wallNow: Timestamp { get }
    /// A timer that calls `action`, not armed yet.
    func timer(_ action: @escaping () -> Void) -> any ClientTimer
    /// Connects to a socket.
    func connect(to path: String) throws(TransportError) -> any LinkConnection
}

/// A timer as ``LoopTimer`` is one.
protocol ClientTimer: AnyObject {
    /// When it will fire, in nanoseconds of the monotonic clock; nil while it is not armed.
    var deadline: Int64? { get }
    /// Fires then. An earlier arming is forgotten.
    func arm(at moment: Int64)
    /// Forgets the arming, if there is one.
    func cancel()
}

/// What a ``Link`` needs of its connection.
protocol LinkConnection: AnyObject {
    /// Begins to read for a link, which is told by its own methods what comes.
    func begin(_ link: Link)
    /// Writes bytes, later where it cannot now.
    func write(_ bytes: [UInt8])
    /// Closes it, and drops what is not written.
    func close()
    /// Closes it once all is written.
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
