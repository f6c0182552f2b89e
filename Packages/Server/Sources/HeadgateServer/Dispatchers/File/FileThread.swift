import HeadgateTransport

/// The thread that writes one file, which all senders of the same path share. When a change of the settings replaces a
/// sender, the old one finishes its batches and the new one writes after them (Behaviour S3). Neither finds the file
/// locked by the other.
final class FileThread: Sendable {
    let loop: EventLoop
    private let writer = Writer()

    init() throws(TransportError) {
        loop = try EventLoop.onNewThread(named: "headgate-file")
    }

    deinit {
        loop.stop()
    }

    /// Appends complete lines to a file, on the thread. Then calls `then` there, with the fault or nil.
    func append(_ lines: [UInt8], to file: EventFile, then: @escaping @Sendable (FileFault?) -> Void) {
        loop.submit { [writer] in then(writer.append(lines, to: file)) }
    }

    /// Closes a file after all writes that were requested before. The thread lives until then, so that a new sender for
    /// the path gets this thread. Another thread would find the file locked.
    func close(_ file: EventFile) {
        loop.submit { [self] in withExtendedLifetime(self) { file.close() } }
    }

    /// The open file. Only one is open at a time, because each locks the same path.
    // Unchecked: only the thread uses it.
    private final class Writer: @unchecked Sendable {
        private var current: EventFile?

        func append(_ lines: [UInt8], to file: EventFile) -> FileFault? {
            if current !== file { current?.close() }
            current = file
            do throws(FileFault) {
                try file.append(lines)
                return nil
            } catch {
                return error
            }
        }
    }
}

/// The threads of all written files, by path. It lives on the service's loop.
final class FileThreads {
    private var all: [String: Reference] = [:]

    private struct Reference {
        weak var thread: FileThread?
    }

    /// Returns the thread of a path. The thread lives as long as a caller keeps it.
    func thread(for path: String) throws(TransportError) -> FileThread {
        if let thread = all[path]?.thread { return thread }
        all = all.filter { $0.value.thread != nil }
        let thread = try FileThread()
        all[path] = Reference(thread: thread)
        return thread
    }
}
