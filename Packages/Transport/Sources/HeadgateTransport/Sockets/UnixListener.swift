import CUV
import Glibc

/// Listens on a Unix stream socket. It lives on its loop's thread, and listens until it is closed or the loop stops,
/// held or not.
public final class UnixListener {
    /// The socket's path; nil for one that was inherited.
    public let path: String?
    /// Told when connections cannot be taken; they wait until some moments later. Told once of a shortage, however long
    /// it lasts, until all that waited have been taken.
    public var onError: ((TransportError) -> Void)?

    private let loop: EventLoop
    private let handle: Handle
    private let accept: (Int32) -> Int32
    private let onConnection: (Connection) -> Void
    private var socket: ListeningSocket?
    private var retry: LoopTimer?
    /// Whether connections wait that could not be taken.
    private var isShort = false

    /// Binds and listens on `path`: makes a missing directory (mode 0750), replaces a left-over socket file that nobody
    /// answers on, and gives the socket mode 0660. `onConnection` gets each connection, which reads nothing before
    /// ``Connection/start(_:)``.
    /// - Parameter waiting: whether to wait a moment for another process that starts at the same path.
    public convenience init(
        path: String, on loop: EventLoop, backlog: Int32 = 4096, waiting: Bool = true,
        onConnection: @escaping (Connection) -> Void
    ) throws(TransportError) {
        let socket = try ListeningSocket(at: UnixAddress(path: path), backlog: backlog, waiting: waiting)
        try self.init(socket, on: loop, onConnection: onConnection)
    }

    /// Takes over a socket that already listens, like one of ``SocketActivation``; also when that fails. Its file stays
    /// when it is closed.
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

    /// A Boolean value that says whether the socket's file is in its place; true for a socket that was inherited.
    public var isInPlace: Bool { socket?.file?.isInPlace ?? true }

    /// Whether it has not been closed.
    public var isOpen: Bool {
        handle.isOpen
    }

    /// Stops listening, and removes the socket's file if it is still the one that was made. Connections stay.
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

    /// Out of descriptors or memory: asking again at once would fail at once. What waits keeps waiting in the backlog.
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
