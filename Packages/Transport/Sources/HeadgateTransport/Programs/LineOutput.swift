import Glibc

/// Writes lines to a descriptor from a thread of its own, so that no caller waits for the process that reads them.
///
/// Up to a bound, lines that are not read yet are kept; further lines are dropped and counted. When there is room again, one
/// line says how many were dropped. A descriptor without a reader fails the write and never ends the process (SIGPIPE).
/// From any thread.
public final class LineOutput: Sendable {
    /// Renders the line that reports a number of dropped lines.
    public typealias Notice = @Sendable (_ dropped: Int) -> String

    /// The standard error of this process. When the process exits it waits up to a second for lines that are not written yet.
    public static let standardError: LineOutput = {
        atexit { _ = LineOutput.standardError.drain(atMost: LineOutput.exitPatience) }
        return LineOutput(STDERR_FILENO)
    }()

    private let descriptor: Int32
    private let queue: Guarded<LineQueue>

    /// How many milliseconds an exit waits.
    private static let exitPatience = 1_000

    /// An output to a descriptor that stays open as long as the output is used.
    /// - Parameter limit: the most bytes that wait.
    public init(_ descriptor: Int32, limit: Int = 256 << 10) {
        self.descriptor = descriptor
        queue = Guarded(LineQueue(limit: limit))
    }

    /// The number of lines that were dropped, because nobody read or because they could not be written.
    public var dropped: Int { queue.withLock { $0.dropped } }

    /// Writes a line, given without its end. Returns at once.
    public func write(_ line: String, orReport notice: @escaping Notice) {
        guard queue.withLock({ $0.add(line, notice: notice) }) else { return }
        do throws(TransportError) {
            try LoopThread.start(named: "headgate-lines") { self.writeAll() }
        } catch {
            queue.withLock { $0.writerFailed() }
        }
    }

    /// Waits until all lines are written, for at most so many milliseconds.
    /// - Returns: true if all lines are written.
    @discardableResult public func drain(atMost milliseconds: Int) -> Bool {
        let isIdle = { (queue: LineQueue) in !queue.isWriting }
        return queue.withLock(when: isIdle, atMost: milliseconds) { !$0.isWriting }
    }

    private func writeAll() {
        // The signal of a broken pipe is the writing thread's alone. The thread ends with the signal still pending.
        ProcessSignals.block(SIGPIPE)
        while let line = queue.withLock({ $0.next() }) {
            let isWritten = write(line)
            queue.withLock { $0.finish(isWritten: isWritten) }
        }
    }

    /// Writes a line in one piece where the descriptor takes it so: lines of several processes do not mix then.
    private func write(_ line: [UInt8]) -> Bool {
        var written = 0
        while written < line.count {
            // A line has at least its end, so that it has an address.
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

    /// Another process that shares the descriptor may have made it non-blocking.
    private func waitUntilWritable() {
        var state = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&state, 1, -1)
    }
}
