import HeadgateTransport

/// The thread that writes one file. All senders that write to the same path share it: a sender that a reload replaces finishes
/// what it has, and its successor writes behind that (Behaviour S3). Neither finds the file locked by the other.
final class FileThread: Sendable {
    let loop: EventLoop
    private let desk = Desk()

    init() throws(TransportError) {
        loop = try EventLoop.onNewThread(named: "headgate-file")
    }

    deinit {
        loop.stop()
    }

    /// Appends whole lines to a file, on the thread; `then` is called there with the fault, or nil.
    func append(_ lines: [UInt8], to file: EventFile, then: @escaping @Sendable (FileFault?) -> Void) {
        loop.submit { [desk] in then(desk.append(lines, to: file)) }
    }

    /// Closes a file once all that was ordered before is done.
    func close(_ file: EventFile) {
        loop.submit { file.close() }
    }

    /// The file that is open. Only one is, because each has a lock on the same path.
    // Unchecked: it is touched on the thread alone.
    private final class Desk: @unchecked Sendable {
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

/// The threads of all files that are written, by path. It lives on the service's loop.
final class FileThreads {
    private var all: [String: Reference] = [:]

    private struct Reference {
        weak var thread: FileThread?
    }

    /// Returns the thread for a path, which lives as long as somebody keeps it.
    func thread(for path: String) throws(TransportError) -> FileThread {
        if let thread = all[path]?.thread { return thread }
        all = all.filter { $0.value.thread != nil }
        let thread = try FileThread()
        all[path] = Reference(thread: thread)
        return thread
    }
}
