import HeadgateCore
import HeadgateTransport

/// The sender of a dispatcher of kind `file`. It appends batches to a file in the order of their sending, and syncs
/// each before it settles (Behaviour K2).
///
/// The file's own thread waits for the disk, so that the loop and other dispatchers do not.
// Unchecked: the file's thread only passes the reference on. The loop alone uses the state.
final class FileSender: Sender, @unchecked Sendable {
    let format = BatchFormat.ndjson

    private let loop: EventLoop
    private let thread: FileThread
    private let file: EventFile
    private var waiting: [Write] = []
    private var current: Write?
    /// The number of interruptions so far. A write of an earlier round is ignored when it ends.
    private var round = 0
    private var isClosed = false

    private struct Write {
        var lines: [UInt8]
        var then: (SendResult) -> Void
    }

    /// Makes a sender on the loop's thread.
    /// - Parameters:
    ///   - settings: the settings, whose path may be relative to the working directory.
    ///   - threads: the threads that all senders of the same files share.
    init(
        _ settings: FileSettings, loop: EventLoop, threads: FileThreads = FileThreads()
    ) throws(TransportError) {
        loop.preconditionCurrent()
        ProcessSignals.ignoreWriteSignals()
        self.loop = loop
        thread = try threads.thread(for: settings.path)
        file = EventFile(settings) { [clock = thread.loop] in clock.monotonicNow }
    }

    deinit {
        close()
    }

    func send(_ batch: Batch, then: @escaping (SendResult) -> Void) {
        waiting.append(Write(lines: batch.body, then: then))
        writeNext()
    }

    /// Interrupts all batches. The write in progress cannot be stopped. Its batch may still reach the file, and then
    /// the file gets it twice.
    func interrupt() {
        round += 1
        let given = [current].compactMap { $0 } + waiting
        current = nil
        waiting = []
        loop.atEndOfTurn { for write in given { write.then(.interrupted) } }
    }

    /// Closes the file without waiting. The file's thread ends when the disk has answered.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        thread.close(file)
    }

    private func writeNext() {
        guard current == nil, !waiting.isEmpty else { return }
        let next = waiting.removeFirst()
        current = next
        thread.append(next.lines, to: file) { [self, round] fault in
            let result = fault.map { SendResult.noAnswer(cause: $0.cause) } ?? .delivered
            loop.submit { [self] in didWrite(result, round) }
        }
    }

    private func didWrite(_ result: SendResult, _ round: Int) {
        guard round == self.round, let ended = current else { return }
        current = nil
        writeNext()
        ended.then(result)
    }
}
