import CDisk
import Glibc

/// Syncs one file at a time in the background: ``begin(_:)`` starts a sync, and ``end(on:)`` waits for its end.
///
/// It uses Linux's asynchronous calls, which are allowed where `io_uring` often is not.
// Unchecked: the engine's owner uses it, one thread at a time.
final class BackgroundSync: @unchecked Sendable {
    /// The system's context; 0 if the system has none, nil before the first sync. Most daemons begin none.
    private var context: UInt64?
    /// The file whose sync is in progress.
    private var begun: Int32?

    /// The context takes long to create, so that all files share one.
    deinit {
        if let context, context != 0 { cdisk_close_background(context) }
    }

    /// Begins to sync a file.
    /// - Returns: false if that is not possible.
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

    /// Returns true if a file's sync is in progress.
    func isInProgress(on file: Int32) -> Bool {
        guard begun == file, let context else { return false }
        return !cdisk_may_have_ended(context)
    }

    /// Waits for the end of a file's sync, if it is in progress.
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
