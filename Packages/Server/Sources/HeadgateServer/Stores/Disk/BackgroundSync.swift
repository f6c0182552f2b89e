import CDisk
import Glibc

/// A sync that the system carries out while the program goes on: it is begun, and its end asked for later. There is one at a time.
///
/// By Linux's asynchronous calls, which are allowed where `io_uring` often is not.
// Unchecked: who works for a store, one thread at a time, begins a sync and ends it.
final class BackgroundSync: @unchecked Sendable {
    private let context: UInt64
    /// The file whose sync has been begun and has not ended.
    private var begun: Int32?

    /// Nil where the system has no such thing.
    init?() {
        var context: UInt64 = 0
        guard cdisk_open_background(&context) == 0 else { return nil }
        self.context = context
    }

    /// It takes its time, so that one is kept for all files.
    deinit {
        cdisk_close_background(context)
    }

    /// Begins to sync a file.
    /// - Returns: false where that cannot be begun.
    func begin(_ file: Int32) -> Bool {
        guard begun == nil, cdisk_begin_sync(context, file) == 1 else { return false }
        begun = file
        return true
    }

    /// Whether what was begun on a file has not ended.
    func isUnderWay(on file: Int32) -> Bool { begun == file && !cdisk_may_have_ended(context) }

    /// Whether what was begun on a file has ended.
    /// - Parameter waiting: whether to wait for its end.
    func end(on file: Int32, waiting: Bool) throws(DiskFault) -> Bool {
        guard begun == file else { return true }
        var result: Int64 = 0
        while true {
            let answer = cdisk_end(context, waiting, &result)
            if answer < 0, errno == EINTR { continue }
            guard answer >= 0 else { throw .last }
            guard answer == 1 else { return false }
            begun = nil
            guard result == 0 else { throw DiskFault(code: result < 0 ? Int32(-result) : EIO) }
            return true
        }
    }
}
