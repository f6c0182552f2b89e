import HeadgateCore
import HeadgateTransport

/// The way out of a dispatcher of kind `file`: batches are appended to a file, one after the other, in the order in
/// which they are sent, each synced before it settles (Behaviour K2).
///
/// The disk is waited for on the file's own thread: neither the loop nor another dispatcher waits for it.
// Unchecked: it crosses to the file's thread as a reference only. Its state is touched on the loop alone.
final class FileSender: Sender, @unchecked Sendable {
    let format = BatchFormat.ndjson

    private let loop: EventLoop
    private let thread: FileThread
    private let file: EventFile
    private var waiting: [Write] = []
    private var current: Write?
    /// Counts the interruptions: what an earlier round has left on the file's thread is of no interest when it ends.
    private var round = 0
    private var isClosed = false

    private struct Write {
        var lines: [UInt8]
        var then: (SendResult) -> Void
    }

    /// - Parameters:
    ///   - settings: With an absolute path, or one relative to the working directory.
    ///   - threads: shared by all senders that may write to the same file.
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

    /// What the file's thread is at cannot be stopped: it may still reach the file, and then comes twice.
    func interrupt() {
        round += 1
        let given = [current].compactMap { $0 } + waiting
        current = nil
        waiting = []
        loop.atEndOfTurn { for write in given { write.then(.interrupted) } }
    }

    /// Does not wait for the file's thread, which ends once the disk lets it.
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
