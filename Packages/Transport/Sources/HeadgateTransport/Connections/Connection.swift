import CUV
import Glibc

/// A Unix stream connection on an event loop. It lives on the loop's thread, and stays open until it is closed, held or
/// not.
///
/// It polls and calls `recv` and `send` itself: so a paused connection learns that its peer is gone, no write is in
/// flight when it closes, and `SIGPIPE` never comes.
public final class Connection {
    /// The loop that it lives on.
    public let loop: EventLoop
    /// Who is at the other end.
    public let peer: PeerCredentials
    /// Whether the peer can read no more, so that what is written is dropped.
    public internal(set) var isPeerGone = false
    /// Whether the peer has said that it sends no more, and all that it sent has been read.
    public internal(set) var hasReachedEnd = false
    /// When output last moved, or began to wait for the peer, in nanoseconds of the loop's monotonic clock. A peer that
    /// reads too slowly is one for whom there are ``outputBytes`` long after this.
    public internal(set) var lastOutputProgress: Int64

    /// What follows the last byte of output.
    enum Ending {
        case none
        case shutdown
        case close
    }

    /// Told of all that happens, and kept, until the connection has closed.
    private(set) var handler: (any ConnectionHandler)?
    let number: Int32
    let handle: Handle
    var output = OutputBuffer()
    var ending = Ending.none
    var isReading = false
    /// Whether the peer's end of the socket takes no more at present.
    var isBlocked = false
    var isFlushScheduled = false
    /// Made once, not for each turn.
    private(set) lazy var flushAtEndOfTurn: () -> Void = { [weak self] in self?.flushScheduled() }

    private var descriptor: Descriptor?
    /// Why the peer is gone, if it is.
    var departure: TransportError?
    private var closeError: TransportError?
    /// The events that libuv polls for.
    private var interest: Int32 = 0
    /// Whether urgent bytes have made the watch for a hang-up useless.
    private var ignoresUrgent = false

    init(_ descriptor: consuming Descriptor, on loop: EventLoop) throws(TransportError) {
        loop.preconditionCurrent()
        let number = descriptor.number
        peer = try PeerCredentials(of: descriptor)
        handle = try Handle("uv_poll_init", in: loop.handles) { uv_poll_init($0, $1, number) }
        self.loop = loop
        self.number = number
        self.descriptor = consume descriptor
        lastOutputProgress = loop.monotonicNow
        // The handle keeps the connection, until it is closed and forgets both.
        handle.onEvent = { self.handle(status: $0, events: $1) }
        handle.onClosed = { self.didClose() }
    }

    /// Takes over a connected Unix stream socket, also when that fails.
    public convenience init(fileDescriptor: Int32, on loop: EventLoop) throws(TransportError) {
        let descriptor = Descriptor(fileDescriptor)
        try descriptor.prepareForLoop()
        try self.init(descriptor, on: loop)
    }

    /// Connects to the socket at `path`. A Unix socket answers at once, be it that nobody is there
    /// (``TransportError/isNobodyThere``) or that too many are waiting to be taken (`EAGAIN`).
    public static func connect(path: String, on loop: EventLoop) throws(TransportError) -> Connection {
        let address = try UnixAddress(path: path)
        let descriptor = try Descriptor.unixStream()
        guard address.connect(descriptor) == 0 else { throw .last("connect", path: path) }
        return try Connection(descriptor, on: loop)
    }

    /// Whether it has not been closed.
    public var isOpen: Bool {
        handle.isOpen
    }

    /// Begins to read, and to tell `handler`, which it keeps until it has closed.
    public func start(_ handler: any ConnectionHandler) {
        guard isOpen else { return }
        self.handler = handler
        resumeReading()
    }

    /// Closes at once: what is not written is dropped, and nothing more is told but that it has closed.
    public func close() {
        close(nil)
    }

    func close(_ error: TransportError?) {
        guard isOpen else { return }
        closeError = error
        loop.spareOutput.give(output.release())
        handle.close()
    }

    private func didClose() {
        descriptor = nil
        let former = handler
        handler = nil
        former?.connectionDidClose(self, error: closeError)
    }

    private func handle(status: Int32, events: Int32) {
        // libuv reports an error on the socket by a status, and has then stopped; recv and send tell which it was.
        let isFault = status < 0
        if isFault { interest = 0 }
        if isFault || events & Self.writable != 0 { flush() }
        if isExpectingInput {
            if isFault || events & Self.readable != 0 { read() }
        } else if isFault || events & Self.urgent != 0 {
            noticeHangUp()
        }
        updateInterest()
    }

    private func noticeHangUp() {
        guard isOpen, !isPeerGone else { return }
        var state = pollfd(fd: number, events: 0, revents: 0)
        poll(&state, 1, 0)
        guard Int32(state.revents) & (Int32(POLLHUP) | Int32(POLLERR)) != 0 else {
            // Bytes sent out of band, which nobody here wants.
            ignoresUrgent = true
            return
        }
        // Both sides may simply have finished.
        let isOrderly = ending == .shutdown && output.isEmpty
        losePeer(isOrderly ? nil : .system(operation: "poll", code: UV_EPIPE.rawValue))
    }

    /// Has libuv poll for what is wanted now.
    func updateInterest() {
        guard isOpen else { return }
        var wanted: Int32 = isBlocked ? Self.writable : 0
        if isExpectingInput {
            wanted |= Self.readable
        } else if !isPeerGone, !ignoresUrgent {
            // A hang-up is always reported with whatever is polled for. Urgent data is what never comes; polling for
            // a disconnect would report a peer that has only closed its sending side, over and over.
            wanted |= Self.urgent
        }
        guard wanted != interest else { return }
        interest = wanted
        guard wanted != 0 else {
            _ = uv_poll_stop(handle.raw())
            return
        }
        uv_poll_start(handle.raw(), wanted) { Handle.of($0).onEvent?($1, $2) }
    }

    private static let readable = Int32(UV_READABLE.rawValue)
    private static let writable = Int32(UV_WRITABLE.rawValue)
    private static let urgent = Int32(UV_PRIORITIZED.rawValue)
}
