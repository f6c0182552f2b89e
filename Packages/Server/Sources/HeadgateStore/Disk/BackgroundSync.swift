import CDisk
import Glibc

/// A sync that the system carries out while the program goes on: it is begun, and its end asked for later. There is one at a time.
///
/// By Linux's asynchronous calls, which are allowed where `io_uring` often is not.
// Unchecked: who works for a store, one thread at a time, begins a sync and ends it.
final class BackgroundSync: @unchecked Sendable {
    /// What the system begins syncs in; 0 where it has no such thing, nil before the first: most daemons begin none.
    private var context: UInt64?
    /// The file whose sync has been begun and has not ended.
    private var begun: Int32?

    /// It takes its time, so that one is kept for all files.
    deinit {
        if let context, context != 0 { cdisk_close_background(context) }
    }

    /// Begins to sync a file.
    /// - Returns: false where that cannot be begun.
    func begin(_ file: Int32) -> Bool {
        guard begun == nil, let context = opened(), cdisk_begin_sync(context, file) == 1 else { return false }
        begun = file
        return true
    }

    private func opened() -> UInt64? {
        if context == nil {
            var new: UInt64 = 0
            context = cdisk_open_background(&new) == 0 ? new : 0
        }
        return context == 0 ? nil : context
    }

    /// Whether what was begun on a file has not ended.
    func isUnderWay(on file: Int32) -> Bool {
        guard begun == file, let context else { return false }
        return !cdisk_may_have_ended(context)
    }

    /// Waits for the end of what was begun on a file, if anything was.
    func end(on file: Int32) throws(DiskFault) {
        guard begun == file, let context else { return }
        var result: Int64 = 0
        while cdisk_end(context, &result) != 1 {
            guard errno == EINTR else { throw .last }
        }
        begun = nil
        guard result == 0 else { throw DiskFault(code: Int32(-result)) }
    }
}
