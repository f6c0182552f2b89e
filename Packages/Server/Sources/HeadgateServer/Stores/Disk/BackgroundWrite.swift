import CDisk
import Glibc

/// A write that the system carries out while the program goes on: it is begun, and its end asked for later. There is one at a time.
///
/// By Linux's asynchronous calls, which are allowed where `io_uring` often is not. Only what goes past the page cache, and does not lengthen
/// the file, is really carried out meanwhile.
// Unchecked: who works for a store, one thread at a time, begins a write and ends it.
final class BackgroundWrite: @unchecked Sendable {
    private let background: UInt64
    /// What has been begun and has not ended: the file, and how many bytes.
    private var begun: (file: Int32, count: Int)?

    /// Nil where the system has no such thing.
    init?() {
        var background: UInt64 = 0
        guard cdisk_open_background(&background) == 0 else { return nil }
        self.background = background
    }

    /// It takes its time, so that one is kept for all files.
    deinit {
        cdisk_close_background(background)
    }

    /// Begins a write, which has to go past the page cache.
    /// - Parameter bytes: they stay where they are until the end.
    /// - Returns: false where it cannot be begun.
    func begin(_ bytes: UnsafeRawBufferPointer, to file: Int32, at offset: Int) -> Bool {
        guard begun == nil,
            cdisk_begin_write(background, file, bytes.baseAddress, UInt64(bytes.count), Int64(offset)) == 1
        else { return false }
        begun = (file, bytes.count)
        return true
    }

    /// Whether what was begun on a file has not ended.
    func isUnderWay(on file: Int32) -> Bool { begun?.file == file && !cdisk_may_have_ended(background) }

    /// Whether what was begun on a file has ended.
    /// - Parameter waiting: whether to wait for its end.
    func end(on file: Int32, waiting: Bool) throws(DiskFault) -> Bool {
        guard let begun, begun.file == file else { return true }
        var result: Int64 = 0
        while true {
            let answer = cdisk_end(background, waiting, &result)
            if answer < 0, errno == EINTR { continue }
            guard answer >= 0 else { throw .last }
            guard answer == 1 else { return false }
            self.begun = nil
            // Half of it is no use, and why is not told.
            guard result == begun.count else { throw DiskFault(code: result < 0 ? Int32(-result) : EIO) }
            return true
        }
    }
}
