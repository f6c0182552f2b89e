import CUV
import Glibc

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
        withOutput { $0.append(contentsOf: bytes) }
    }

    /// Lends the output, for appending in place. Its first bytes may be on their way: leave them as they are. `body` is
    /// not called if the connection is not writable.
    public func withOutput<Failure: Error>(_ body: (inout [UInt8]) throws(Failure) -> Void) throws(Failure) {
        guard isWritable else { return }
        if output.isEmpty { output.bytes = loop.spareOutput.take() }
        // Also after a failure: what was appended before it goes out.
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

    func flushScheduled() {
        isFlushScheduled = false
        guard isOpen, !isBlocked else { return }
        flush()
        updateInterest()
    }

    /// Sends what the kernel takes, in chunks, and not without end.
    func flush() {
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
        loop.atEndOfTurn(.write, flushAtEndOfTurn)
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
