/// A listening Unix socket for a library that accepts connections itself. Its file is created and removed as by
/// ``UnixListener``: with mode 0660, replacing a stale one, and leaving any other file unchanged.
public final class BoundSocket {
    private let socket: ListeningSocket

    /// Binds and listens.
    public init(at path: String, backlog: Int32 = 128) throws(TransportError) {
        socket = try ListeningSocket(at: UnixAddress(path: path), backlog: backlog)
    }

    deinit {
        socket.file?.remove()
    }

    /// The descriptor, which is closed with this object. A library that closes descriptors itself needs a copy.
    public var descriptor: Int32 { socket.descriptor.number }
}
