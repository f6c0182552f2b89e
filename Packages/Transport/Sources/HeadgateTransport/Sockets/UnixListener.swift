import CUV
import Glibc

/// A listener on a Unix stream socket. It lives on its loop's thread. It listens until it is closed or the loop stops,
/// even without a reference to it.
public final class UnixListener {
    /// The socket's path; nil if the socket was inherited.
    public let path: String?
    /// Called when connections cannot be accepted. They stay in the backlog, and the listener tries again a moment
    /// later. A shortage of descriptors or memory is reported once, until all waiting connections have been accepted.
    public var onError: ((TransportError) -> Void)?

    private let loop: EventLoop
    private let handle: Handle
    private let accept: (Int32) -> Int32
    private let onConnection: (Connection) -> Void
    private var socket: ListeningSocket?
    private var retry: LoopTimer?
    /// True if connections in the backlog could not be accepted.
    private var isShort = false

    /// Binds and listens on `path`. Creates a missing directory (mode 0750), replaces a stale socket file that no
    /// process answers on, and gives the socket mode 0660.
    /// - Parameters:
    ///   - path: the path of the socket.
    ///   - loop: the listener's loop.
    ///   - backlog: the most connections that wait to be accepted.
    ///   - waiting: true to wait a moment for another process that is starting on the same path.
    ///   - onConnection: gets each connection, which reads nothing before ``Connection/start(_:)``.
    public convenience init(
        path: String, on loop: EventLoop, backlog: Int32 = 4096, waiting: Bool = true,
        onConnection: @escaping (Connection) -> Void
    ) throws(TransportError) {
        let socket = try ListeningSocket(at: UnixAddress(path: path), backlog: backlog, waiting: waiting)
        try self.init(socket, on: loop, onConnection: onConnection)
    }

    /// Takes ownership of a listening socket, like one of ``SocketActivation``, also if the initializer fails. Its file
    /// is not removed when it is closed.
    public convenience init(
        fileDescriptor: Int32, on loop: EventLoop, onConnection: @escaping (Connection) -> Void
    ) throws(TransportError) {
        let socket = try ListeningSocket(inherited: fileDescriptor)
        try self.init(socket, on: loop, onConnection: onConnection)
    }

    init(
        _ socket: consuming ListeningSocket, on loop: EventLoop, accept: @escaping (Int32) -> Int32 = cuv_accept,
        onConnection: @escaping (Connection) -> Void
    ) throws(TransportError) {
        loop.preconditionCurrent()
        let number = socket.descriptor.number
        do throws(TransportError) {
            handle = try Handle("uv_poll_init", in: loop.handles) { uv_poll_init($0, $1, number) }
        } catch {
            socket.file?.remove()
            throw error
        }
        path = socket.file?.path
        self.socket = consume socket
        self.loop = loop
        self.accept = accept
        self.onConnection = onConnection
        handle.onEvent = { _, _ in self.acceptWaiting(number) }
        handle.onClosed = { self.didClose() }
        listen()
    }

    /// True if the socket's file still exists; true for an inherited socket.
    public var isInPlace: Bool { socket?.file?.isInPlace ?? true }

    /// True if the listener has not been closed.
    public var isOpen: Bool {
        handle.isOpen
    }

    /// Stops listening, and removes the socket's file if it is still the one that was created. Existing connections are
    /// kept.
    public func close() {
        handle.close()
    }

    private func didClose() {
        retry = nil
        socket?.file?.remove()
        socket = nil
    }

    private func listen() {
        guard handle.isOpen else { return }
        uv_poll_start(handle.raw(), Int32(UV_READABLE.rawValue)) { Handle.of($0).onEvent?($1, $2) }
    }

    private func acceptWaiting(_ socket: Int32) {
        for _ in 0..<Self.connectionsPerTurn where handle.isOpen {
            let accepted = accept(socket)
            guard accepted < 0 else {
                take(Descriptor(accepted))
                continue
            }
            switch errno {
            case EAGAIN:
                isShort = false
                return
            case EINTR, ECONNABORTED: continue
            default: return pause(.last("accept", path: path))
            }
        }
    }

    private func take(_ descriptor: consuming Descriptor) {
        do throws(TransportError) {
            onConnection(try Connection(descriptor, on: loop))
        } catch {
            onError?(error)
        }
    }

    /// Pauses accepting, because descriptors or memory are exhausted and a retry would fail at once. Connections wait
    /// in the backlog.
    private func pause(_ error: TransportError) {
        uv_poll_stop(handle.raw())
        let retry = self.retry ?? LoopTimer(on: loop) { [weak self] in self?.listen() }
        self.retry = retry
        retry.arm(after: Self.pauseAfterError)
        guard !isShort else { return }
        isShort = true
        onError?(error)
    }

    private static let connectionsPerTurn = 64
    private static let pauseAfterError = Duration.milliseconds(100)
}
