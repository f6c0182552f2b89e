import CUV
import Glibc

/// A Unix stream connection on an event loop. It lives on the loop's thread. It stays open until it is closed, even
/// without a reference to it.
///
/// The connection polls and calls `recv` and `send` itself. A paused connection thus notices that its peer is gone, no
/// write is pending in libuv when it closes, and there is no `SIGPIPE`.
public final class Connection {
    /// The connection's loop.
    public let loop: EventLoop
    /// The credentials of the peer.
    public let peer: PeerCredentials
    /// True if the peer no longer reads, so that output is dropped.
    @exclusivity(unchecked) public private(set) var isPeerGone = false
    /// True if the peer has ended its output, and all of it has been read.
    @exclusivity(unchecked) public private(set) var hasReachedEnd = false
    /// The time of the last progress of output, in nanoseconds of the loop's monotonic clock: when output was last
    /// sent, or was appended to an empty buffer. A peer reads too slowly if ``outputBytes`` is not 0 long after this
    /// time.
    @exclusivity(unchecked) public private(set) var lastOutputProgress: Int64

    /// The action after the last byte of output.
    private enum Ending {
        case none
        case shutdown
        case close
    }

    /// The handler of events, retained until the connection has closed.
    @exclusivity(unchecked) private var handler: (any ConnectionHandler)?
    let number: Int32
    private let handle: Handle
    @exclusivity(unchecked) private(set) var output = OutputBuffer()
    @exclusivity(unchecked) private var ending = Ending.none
    @exclusivity(unchecked) private var isReading = false
    /// True if the peer's socket buffer is full.
    @exclusivity(unchecked) private var isBlocked = false
    @exclusivity(unchecked) private var isFlushScheduled = false

    private var descriptor: Descriptor?
    /// The error with which the loss of the peer was noticed; nil if there was none.
    private var departure: TransportError?
    private var closeError: TransportError?
    /// The events that libuv polls for.
    @exclusivity(unchecked) private var interest: Int32 = 0
    /// Checks for a hang-up periodically, while an urgent byte that cannot be removed prevents polling for it.
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
        // The handle retains the connection until it is closed and drops both closures.
        handle.onEvent = { self.handle(status: $0, events: $1) }
        handle.onClosed = { self.didClose() }
    }

    /// Takes ownership of a connected Unix stream socket, also if the initializer fails.
    public convenience init(fileDescriptor: Int32, on loop: EventLoop) throws(TransportError) {
        let descriptor = Descriptor(fileDescriptor)
        try descriptor.prepareForLoop()
        try self.init(descriptor, on: loop)
    }

    /// Connects to the socket at `path`. A Unix socket answers at once: with success, with an error because no process
    /// listens (``TransportError/hasNoListener``), or with `EAGAIN` because the backlog is full.
    public static func connect(path: String, on loop: EventLoop) throws(TransportError) -> Connection {
        let address = try UnixAddress(path: path)
        let descriptor = try Descriptor.unixStream()
        guard address.connect(descriptor) == 0 else { throw .last("connect", path: path) }
        return try Connection(descriptor, on: loop)
    }

    /// True if the connection has not been closed.
    public var isOpen: Bool {
        handle.isOpen
    }

    /// Starts reading and calling `handler`, which is retained until the connection has closed.
    public func start(_ handler: any ConnectionHandler) {
        guard isOpen else { return }
        self.handler = handler
        resumeReading()
    }

    /// Closes the connection at once. Unsent output is dropped. The handler is only called to report the close.
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
        // libuv reports a socket error as a status and stops polling; recv and send return the error.
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
        guard hasHungUp else { return dropUrgent() }
        // Both sides may have finished in an orderly way.
        let isOrderly = ending == .shutdown && output.isEmpty
        losePeer(isOrderly ? nil : .system(operation: "poll", code: UV_EPIPE.rawValue))
    }

    /// True if the peer has closed the connection. The kernel knows it before the loop reports it.
    public var hasHungUp: Bool {
        guard isOpen else { return true }
        var state = pollfd(fd: number, events: 0, revents: 0)
        poll(&state, 1, 0)
        return Int32(state.revents) & (Int32(POLLHUP) | Int32(POLLERR)) != 0
    }

    /// Removes an urgent (out-of-band) byte, which would otherwise wake the loop repeatedly. If it cannot be removed, a
    /// timer checks for a hang-up.
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
        timer.arm(after: Self.timeBetweenPasses)
    }

    private static let timeBetweenPasses = Duration.milliseconds(500)

    /// Makes libuv poll for the events that are needed now.
    private func updateInterest() {
        guard isOpen else { return }
        var requested: Int32 = isBlocked ? Self.writable : 0
        if isExpectingInput {
            requested |= Self.readable
        } else if !isPeerGone, hangUpTimer == nil {
            // A hang-up is reported together with any polled event. Urgent data never arrives normally. Polling for a
            // disconnect would report a peer that has only closed its sending side again and again.
            requested |= Self.urgent
        }
        guard requested != interest else { return }
        interest = requested
        guard requested != 0 else {
            _ = uv_poll_stop(handle.raw())
            return
        }
        uv_poll_start(handle.raw(), requested) { Handle.of($0).onEvent?($1, $2) }
    }

    private static let readable = Int32(UV_READABLE.rawValue)
    private static let writable = Int32(UV_WRITABLE.rawValue)
    private static let urgent = Int32(UV_PRIORITIZED.rawValue)
}

// MARK: Reading

extension Connection {
    /// Pauses reading until ``resumeReading()``. Input stays in the kernel, and then the peer has to wait. The loss of
    /// the peer is still reported.
    public func pauseReading() {
        isReading = false
        updateInterest()
    }

    /// Resumes reading after ``pauseReading()``.
    public func resumeReading() {
        guard ending != .close else { return }
        isReading = true
        updateInterest()
    }

    private var isExpectingInput: Bool {
        isReading && !hasReachedEnd && isOpen
    }

    /// Reads once, so that other connections are served before the next read.
    private func read() {
        let room = loop.readBuffer.room
        let count = recv(number, room.baseAddress, room.count, 0)
        if count > 0 { return handler?.connection(self, didRead: loop.readBuffer.filled(count)) ?? () }
        guard count < 0 else { return reachEnd() }
        switch errno {
        case EAGAIN, EINTR: return
        case ECONNRESET:
            // All input has been read, and the peer has closed without reading all output.
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

    /// Records that the peer no longer reads. `error` is nil if no output is lost.
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

    /// Reads and discards the remaining input: closing a socket with unread input looks like a crash to the peer.
    private func discardInput() {
        // The loop's read buffer cannot be used here: a handler may still be using its contents.
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
    /// The number of written bytes that the kernel has not taken yet.
    public var outputBytes: Int {
        output.count
    }

    /// True if ``write(_:)-(UnsafeRawBufferPointer)`` has an effect: false after a close, an end, or the loss of the
    /// peer.
    public var isWritable: Bool {
        isOpen && !isPeerGone && ending == .none
    }

    /// Appends bytes to the output, which is sent in one piece at the end of the loop's turn. Does nothing if the
    /// connection is not writable.
    public func write(_ bytes: UnsafeRawBufferPointer) {
        withOutput { $0.append(contentsOf: bytes) }
    }

    /// Appends bytes to the output, which is sent in one piece at the end of the loop's turn. Does nothing if the
    /// connection is not writable.
    public func write(_ bytes: [UInt8]) {
        guard isWritable, output.isEmpty else { return withOutput { $0.append(contentsOf: bytes) } }
        // The output is empty, so the array is used without a copy.
        output.bytes = bytes
        appended()
    }

    /// Calls `body` with the output buffer, for appending in place. The first bytes may already have been sent; they
    /// must not be changed. `body` is not called if the connection is not writable.
    public func withOutput<Failure: Error>(_ body: (inout [UInt8]) throws(Failure) -> Void) throws(Failure) {
        guard isWritable else { return }
        if output.isEmpty { output.bytes = loop.spareOutput.take() }
        // If `body` throws, the bytes that it has appended are still sent.
        defer { appended() }
        try body(&output.bytes)
    }

    /// Stops reading, and closes the connection when all output has been sent. The owner has to limit the time for
    /// that.
    public func closeAfterFlush() {
        guard isOpen else { return }
        ending = .close
        isReading = false
        endIfDrained()
    }

    /// Ends the output for the peer when all of it has been sent. Reading continues.
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

    /// Sends as much as the kernel takes, in chunks, up to a limit per turn.
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
        // The time of waiting output is counted from now, not from the last output.
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

/// A handler of the events of a ``Connection``, called on its loop's thread. All functions may write to the connection,
/// pause or close it. After a close only ``connectionDidClose(_:error:)`` is called.
public protocol ConnectionHandler: AnyObject {
    /// Bytes have arrived. They are valid during the call only. They are followed by 64 readable zero bytes.
    func connection(_ connection: Connection, didRead bytes: UnsafeRawBufferPointer)
    /// The peer has ended its output, and may still read. The connection stays open until it is closed.
    func connectionDidReachEnd(_ connection: Connection)
    /// All output has been sent, or was dropped because the peer is gone.
    func connectionDidDrain(_ connection: Connection)
    /// The peer no longer reads, and unsent output is dropped. Its earlier output is still read, for which a paused
    /// connection must be resumed. Then the connection closes by itself.
    func connectionDidLosePeer(_ connection: Connection)
    /// The connection is closed. This is always the last call. `error` is nil after ``Connection/close()`` and at the
    /// end of the loop.
    func connectionDidClose(_ connection: Connection, error: TransportError?)
}

extension ConnectionHandler {
    public func connectionDidDrain(_ connection: Connection) {}
    public func connectionDidLosePeer(_ connection: Connection) {}
}
