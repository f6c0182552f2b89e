import CUV
import Glibc

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

    var isExpectingInput: Bool {
        isReading && !hasReachedEnd && isOpen
    }

    /// Reads once: the other connections get their turn before this one's next bytes.
    func read() {
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
    func losePeer(_ error: TransportError?) {
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
    func discardInput() {
        // Not the loop's read buffer: a handler further up may be looking at what was read into it.
        withUnsafeTemporaryAllocation(byteCount: Self.discardedAtOnce, alignment: 1) { room in
            for _ in 0..<Self.readsToDiscard {
                guard recv(number, room.baseAddress, room.count, 0) > 0 else { return }
            }
        }
    }

    private static let discardedAtOnce = 16 * 1024
    private static let readsToDiscard = 32
}
