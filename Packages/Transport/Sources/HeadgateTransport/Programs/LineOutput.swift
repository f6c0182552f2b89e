import Glibc

/// An output that writes lines to a descriptor from its own thread, so that callers never wait for the process that
/// reads them.
///
/// Unwritten lines are kept up to a limit; further lines are dropped and counted. When there is room again, one line
/// reports the number of dropped lines. If the reader is gone, a write fails, but SIGPIPE does not end the process. It
/// may be used from any thread.
public final class LineOutput: Sendable {
    /// Returns the line that reports a number of dropped lines.
    public typealias Notice = @Sendable (_ dropped: Int) -> String

    /// The standard error of this process. At exit the process waits up to a second for lines that are not written yet.
    public static let standardError: LineOutput = {
        atexit { _ = LineOutput.standardError.drain(atMost: LineOutput.exitTimeLimit) }
        return LineOutput(STDERR_FILENO)
    }()

    private let descriptor: Int32
    private let queue: Guarded<LineQueue>

    /// The longest wait at exit, in milliseconds.
    private static let exitTimeLimit = 1_000

    /// Creates an output to a descriptor, which must stay open as long as the output is used.
    /// - Parameter limit: the most bytes of unwritten lines.
    public init(_ descriptor: Int32, limit: Int = 256 << 10) {
        self.descriptor = descriptor
        queue = Guarded(LineQueue(limit: limit))
    }

    /// The number of lines that were dropped, because they were not read in time or could not be written.
    public var dropped: Int { queue.withLock { $0.dropped } }

    /// Writes a line, given without its line end. Returns at once.
    public func write(_ line: String, orReport notice: @escaping Notice) {
        guard queue.withLock({ $0.add(line, notice: notice) }) else { return }
        do throws(TransportError) {
            try LoopThread.start(named: "headgate-lines") { self.writeAll() }
        } catch {
            queue.withLock { $0.writerFailed() }
        }
    }

    /// Waits until all lines are written, for at most `milliseconds`.
    /// - Returns: true if all lines are written.
    @discardableResult public func drain(atMost milliseconds: Int) -> Bool {
        let isIdle = { (queue: LineQueue) in !queue.isWriting }
        return queue.withLock(when: isIdle, atMost: milliseconds) { !$0.isWriting }
    }

    private func writeAll() {
        // Block the signal of a broken pipe for this thread. It may end with the signal pending.
        ProcessSignals.block(SIGPIPE)
        while let line = queue.withLock({ $0.next() }) {
            let isWritten = write(line)
            queue.withLock { $0.finish(isWritten: isWritten) }
        }
    }

    /// Writes a line in one piece if the descriptor takes it, so that lines of several processes do not mix.
    private func write(_ line: [UInt8]) -> Bool {
        var written = 0
        while written < line.count {
            // The force-unwrap is safe: a line contains at least its line end.
            let count = line.withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress! + written, line.count - written)
            }
            guard count < 0 else {
                written += count
                continue
            }
            guard errno == EINTR || errno == EAGAIN else { return false }
            waitUntilWritable()
        }
        return true
    }

    /// Waits until the descriptor is writable. Another process that shares it may have made it non-blocking.
    private func waitUntilWritable() {
        var state = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&state, 1, -1)
    }
}
