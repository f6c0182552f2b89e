import Glibc

/// A writer of text to a descriptor that never makes its caller wait, even if nobody reads from the descriptor.
///
/// A thread of its own writes. While the reader stalls, the writer keeps a bounded number of bytes; it discards and counts
/// the texts that come after that. Once there is room again, it writes one line with their number. Any thread may use it.
public final class BackgroundWriter: Sendable {
    private let queue = Guarded(Queue())
    private let bound: Int

    private struct Queue: Sendable {
        var bytes: [UInt8] = []
        /// The number of texts that were discarded since the last one that was kept.
        var lost = 0
        var isWriting = false
        var isClosed = false

        var isEmpty: Bool { bytes.isEmpty && lost == 0 }
    }

    /// Starts the writer's thread.
    /// - Parameters:
    ///   - descriptor: an open descriptor that stays open as long as the writer is used.
    ///   - bound: the number of bytes that the writer keeps at most.
    ///   - lossNote: returns the line, with its end, that tells how many texts were discarded.
    public init(
        to descriptor: Int32, keeping bound: Int = 256 << 10, lossNote: @escaping @Sendable (Int) -> String
    ) throws(TransportError) {
        self.bound = bound
        try LoopThread.start(named: "headgate-output") { [queue] in
            while let bytes = Self.next(in: queue, lossNote) {
                Self.write(bytes, to: descriptor)
                queue.withLock { $0.isWriting = false }
            }
        }
    }

    deinit {
        queue.withLock { $0.isClosed = true }
    }

    /// Hands a text to the writer's thread, or discards and counts it if there is no room.
    public func write(_ text: String) {
        queue.withLock { queue in
            // Texts are discarded until the thread has taken their number, so that its line stands in the right place.
            guard queue.lost == 0, queue.bytes.count + text.utf8.count <= bound else {
                queue.lost += 1
                return
            }
            queue.bytes += text.utf8
        }
    }

    /// Waits until everything is written, for at most the given number of milliseconds. Call it before the process ends.
    public func drain(atMost milliseconds: Int) {
        let isDone = { (queue: Queue) in queue.isEmpty && !queue.isWriting }
        queue.withLock(when: isDone, atMost: milliseconds) { _ in }
    }

    /// Waits for text, and returns it. Returns nil once the writer is gone and nothing is left.
    private static func next(in queue: Guarded<Queue>, _ lossNote: (Int) -> String) -> [UInt8]? {
        let hasNews = { (queue: Queue) in !queue.isEmpty || queue.isClosed }
        return queue.withLock(when: hasNews) { queue in
            guard !queue.isEmpty else { return nil }
            let bytes = queue.lost == 0 ? queue.bytes : queue.bytes + lossNote(queue.lost).utf8
            (queue.bytes, queue.lost, queue.isWriting) = ([], 0, true)
            return bytes
        }
    }

    /// Writes all bytes. A failure cannot be reported anywhere, so that the rest is dropped.
    private static func write(_ bytes: [UInt8], to descriptor: Int32) {
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { bytes in
                let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
                return Glibc.write(descriptor, rest.baseAddress, rest.count)
            }
            if count >= 0 {
                written += count
                continue
            }
            guard errno == EINTR || errno == EAGAIN else { return }
            // Another process that shares the descriptor may have made it non-blocking.
            var state = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            poll(&state, 1, -1)
        }
    }
}
