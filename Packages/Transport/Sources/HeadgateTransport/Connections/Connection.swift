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
    @exclusivity(unchecked) public private(set) var isPeerGone = false
    /// Whether the peer has said that it sends no more, and all that it sent has been read.
    @exclusivity(unchecked) public private(set) var hasReachedEnd = false
    /// When output last moved, or began to wait for the peer, in nanoseconds of the loop's monotonic clock. A peer that
    /// reads too slowly is one for whom there are ``outputBytes`` long after this.
    @exclusivity(unchecked) public private(set) var lastOutputProgress: Int64

    /// What follows the last byte of output.
    private enum Ending {
        case none
        case shutdown
        case close
    }

    /// The handler is told of all that happens, and kept, until the connection has closed.
    @exclusivity(unchecked) private var handler: (any ConnectionHandler)?
    let number: Int32
    private let handle: Handle
    @exclusivity(unchecked) private(set) var output = OutputBuffer()
    @exclusivity(unchecked) private var ending = Ending.none
    @exclusivity(unchecked) private var isReading = false
    /// Whether the peer's end of the socket takes no more at present.
    @exclusivity(unchecked) private var isBlocked = false
    @exclusivity(unchecked) private var isFlushScheduled = false

    private var descriptor: Descriptor?
    /// Why the peer is gone, if it is.
    private var departure: TransportError?
    private var closeError: TransportError?
    /// The events that libuv polls for.
    @exclusivity(unchecked) private var interest: Int32 = 0
    /// Looks for a hang-up now and then where an urgent byte that cannot be taken away makes the watch for one useless.
    private var hangUpTimer: LoopTimer?

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

    private func close(_ error: TransportError?) {
        guard isOpen else { return }
        closeError = error
        loop.spareOutput.give(output.release())
        handle.close()
    }

    private func didClose() {
        hangUpTimer = nil
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
            return dropUrgent()
        }
        // Both sides may simply have finished.
        let isOrderly = ending == .shutdown && output.isEmpty
        losePeer(isOrderly ? nil : .system(operation: "poll", code: UV_EPIPE.rawValue))
    }

    /// Takes a byte away that was sent out of band, which nobody here wants: as long as it lies there, the loop would be woken again
    /// and again. Where that cannot be done, a timer looks for the hang-up.
    private func dropUrgent() {
        var byte: UInt8 = 0
        guard recv(number, &byte, 1, Int32(MSG_OOB | MSG_DONTWAIT)) <= 0 else { return }
        let timer = LoopTimer(on: loop) { [weak self] in
            guard let self, hangUpTimer != nil else { return }
            hangUpTimer = nil
            if !isExpectingInput { noticeHangUp() }
            updateInterest()
        }
        hangUpTimer = timer
        timer.arm(after: Self.timeBetweenLooks)
    }

    private static let timeBetweenLooks = Duration.milliseconds(500)

    /// Has libuv poll for what is wanted now.
    private func updateInterest() {
        guard isOpen else { return }
        var wanted: Int32 = isBlocked ? Self.writable : 0
        if isExpectingInput {
            wanted |= Self.readable
        } else if !isPeerGone, hangUpTimer == nil {
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

// MARK: Reading

extension Connection {
    /// Stops reading until ``resumeReading()``; what the peer sends waits in the kernel, and then the peer does. That
    /// the peer is gone is told all the same.
    public func pauseReading() {
        isReading = false
        updateInterest()
    }

    /// Reads on, after ``pauseReading()``.
    public func resumeReading() {
        guard ending != .close else { return }
        isReading = true
        updateInterest()
    }

    private var isExpectingInput: Bool {
        isReading && !hasReachedEnd && isOpen
    }

    /// Reads once: the other connections get their turn before this one's next bytes.
    private func read() {
        let room = loop.readBuffer.room
        let count = recv(number, room.baseAddress, room.count, 0)
        if count > 0 { return handler?.connection(self, didRead: loop.readBuffer.filled(count)) ?? () }
        guard count < 0 else { return reachEnd() }
        switch errno {
        case EAGAIN, EINTR: return
        case ECONNRESET:
            // All that it sent has been read, and it went without reading all that was sent to it.
            losePeer(.last("recv"))
            reachEnd()
        default: close(.last("recv"))
        }
    }

    private func reachEnd() {
        guard isExpectingInput else { return }
        hasReachedEnd = true
        handler?.connectionDidReachEnd(self)
        if isPeerGone { close(departure) }
    }

    /// Takes note that nobody reads any more what is written; `error` is nil if nothing is lost by it.
    private func losePeer(_ error: TransportError?) {
        guard isOpen, !isPeerGone else { return }
        isPeerGone = true
        departure = error
        isBlocked = false
        let hadOutput = !output.isEmpty
        loop.spareOutput.give(output.release())
        handler?.connectionDidLosePeer(self)
        if hadOutput, isOpen { handler?.connectionDidDrain(self) }
        if hasReachedEnd || ending == .close { close(error) }
    }

    /// Reads what still lies there, and throws it away: a socket that is closed on unread bytes looks like a crash to
    /// the peer.
    private func discardInput() {
        // The loop's read buffer will not do: a handler further up may be looking at what was read into it.
        withUnsafeTemporaryAllocation(byteCount: Self.discardedAtOnce, alignment: 1) { room in
            for _ in 0..<Self.readsToDiscard {
                guard recv(number, room.baseAddress, room.count, 0) > 0 else { return }
            }
        }
    }

    private static let discardedAtOnce = 16 * 1024
    private static let readsToDiscard = 32
}

// MARK: Writing

extension Connection {
    /// How many bytes are written and not yet taken by the kernel.
    public var outputBytes: Int {
        output.count
    }

    /// Whether ``write(_:)-(UnsafeRawBufferPointer)`` has any effect: not after a close, an end, or the loss of the
    /// peer.
    public var isWritable: Bool {
        isOpen && !isPeerGone && ending == .none
    }

    /// Appends bytes to the output, which goes out in one piece at the end of the loop's turn. Does nothing if the
    /// connection is not writable.
    public func write(_ bytes: UnsafeRawBufferPointer) {
        withOutput { $0.append(contentsOf: bytes) }
    }

    /// Appends bytes to the output, which goes out in one piece at the end of the loop's turn. Does nothing if the
    /// connection is not writable.
    public func write(_ bytes: [UInt8]) {
        guard isWritable, output.isEmpty else { return withOutput { $0.append(contentsOf: bytes) } }
        // Nothing waits before them: they need not be copied.
        output.bytes = bytes
        appended()
    }

    /// Lends the output, for appending in place. Its first bytes may be on their way: leave them as they are. `body` is
    /// not called if the connection is not writable.
    public func withOutput<Failure: Error>(_ body: (inout [UInt8]) throws(Failure) -> Void) throws(Failure) {
        guard isWritable else { return }
        if output.isEmpty { output.bytes = loop.spareOutput.take() }
        // A failure of `body` changes nothing: what was appended before it goes out.
        defer { appended() }
        try body(&output.bytes)
    }

    /// Closes when all output has been written, and reads no more. How long that may take is for the owner to bound.
    public func closeAfterFlush() {
        guard isOpen else { return }
        ending = .close
        isReading = false
        endIfDrained()
    }

    /// Tells the peer, when all output has been written, that no more will come; reading goes on.
    public func shutdownWriting() {
        guard isWritable else { return }
        ending = .shutdown
        endIfDrained()
    }

    private func flushScheduled() {
        isFlushScheduled = false
        guard isOpen, !isBlocked else { return }
        flush()
        updateInterest()
    }

    /// Sends what the kernel takes, in chunks, and not without end.
    private func flush() {
        guard isOpen, !output.isEmpty else { return }
        let wasBlocked = isBlocked
        isBlocked = true
        for _ in 0..<Self.chunksPerTurn {
            let sent = output.withUnsent(atMost: Self.chunk) {
                send(number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard sent > 0 else {
                guard sent == 0 || errno == EAGAIN || errno == EINTR else { return sendFailed(.last("send")) }
                break
            }
            output.advance(by: sent)
            lastOutputProgress = loop.monotonicNow
            guard !output.isEmpty else { return drained() }
        }
        if !wasBlocked { lastOutputProgress = loop.monotonicNow }
    }

    private func sendFailed(_ error: TransportError) {
        switch error.code {
        case UV_EPIPE.rawValue, UV_ECONNRESET.rawValue: losePeer(error)
        default: close(error)
        }
    }

    private func appended() {
        guard !output.isEmpty else { return loop.spareOutput.give(output.release()) }
        guard !isBlocked, !isFlushScheduled else { return }
        isFlushScheduled = true
        // It waits from now on, and not since whatever was sent last.
        lastOutputProgress = loop.monotonicNow
        loop.atEndOfTurn(.write) { self.flushScheduled() }
    }

    private func drained() {
        isBlocked = false
        loop.spareOutput.give(output.release())
        endIfDrained()
        if isOpen { handler?.connectionDidDrain(self) }
    }

    private func endIfDrained() {
        guard output.isEmpty else { return updateInterest() }
        switch ending {
        case .none: return
        case .shutdown: shutdown(number, Int32(SHUT_WR))
        case .close:
            discardInput()
            close()
        }
    }

    private static let chunk = 256 * 1024
    private static let chunksPerTurn = 4
}

/// A handler is told what happens on a ``Connection``, on its loop's thread. Any of these may write to the connection,
/// pause or close it; after a close only ``connectionDidClose(_:error:)`` is still to come.
public protocol ConnectionHandler: AnyObject {
    /// Bytes have come. They are gone after the call: use or copy them. Behind them are 64 readable bytes, all zero.
    func connection(_ connection: Connection, didRead bytes: UnsafeRawBufferPointer)
    /// The peer will send no more; it may still read. The connection stays open until it is closed.
    func connectionDidReachEnd(_ connection: Connection)
    /// All output has been written, or there is nobody any more to write to.
    func connectionDidDrain(_ connection: Connection)
    /// The peer can read no more: it is gone, or as good as. What was to be written is dropped. What it sent before is
    /// still read (a paused connection must be resumed for it), then the connection closes by itself.
    func connectionDidLosePeer(_ connection: Connection)
    /// It is closed, for good: the one call that always comes, and the last. `error` is nil after
    /// ``Connection/close()`` and at the end of the loop.
    func connectionDidClose(_ connection: Connection, error: TransportError?)
}

extension ConnectionHandler {
    public func connectionDidDrain(_ connection: Connection) {}
    public func connectionDidLosePeer(_ connection: Connection) {}
}
