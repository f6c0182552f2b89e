/// A listening Unix socket for a library that accepts by itself. The file is made, and removed at the end, as
/// ``UnixListener`` does it: mode 0660, a left-over one replaced, somebody else's left alone.
public final class BoundSocket {
    private let socket: ListeningSocket

    /// Binds and listens.
    public init(at path: String, backlog: Int32 = 128) throws(TransportError) {
        socket = try ListeningSocket(at: UnixAddress(path: path), backlog: backlog)
    }

    deinit {
        socket.file?.remove()
    }

    /// The descriptor, closed with this object. A library that wants to close one itself is given a copy.
    public var descriptor: Int32 { socket.descriptor.number }
}
