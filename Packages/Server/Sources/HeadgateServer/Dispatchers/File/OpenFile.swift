import CUV
import Glibc
import HeadgateData
import HeadgateTransport
import HeadgateWire

/// A file that is open for appending complete lines. It is closed when its last owner releases it.
///
/// A regular file is locked against other writers, synced after each append, and cut back to its former size if an
/// append fails. Pipes and devices, like `/dev/null`, support none of this and are only written to.
final class OpenFile {
    /// The age of the file when it was opened. It is zero if the file system does not report it.
    let ageAtOpening: Duration
    /// The time at which the file was opened, in nanoseconds of the monotonic clock.
    let openedAt: Int64

    private let descriptor: Int32
    private let identity: FileIdentity
    /// True if a pipe or device has accepted only the beginning of a line.
    private var isMidLine = false

    /// Opens the file, or creates it with mode 0600. Removes the unfinished line that a killed process may have left.
    init(path: String, now: Int64) throws(FileFault) {
        (descriptor, identity) = try Self.open(path)
        openedAt = now
        ageAtOpening = FileBirth.age(of: descriptor)
        // From here on `deinit` closes the file if this throws.
        guard isRegular else { return }
        // A file system without locks returns another error, and then there is no lock to respect.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK else { throw .last }
        try LastLine(of: descriptor, size: try size()).repair()
    }

    deinit {
        // The file is unlocked first: a program that another thread is starting may hold a copy of the descriptor, and
        // with it the lock.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// True for a regular file, false for a pipe or device.
    var isRegular: Bool {
        identity.isRegular
    }

    /// Returns true if the path still leads to this file. Another process may have moved or removed it.
    func isStill(at path: String) -> Bool {
        FileIdentity(path: path) == identity
    }

    func size() throws(FileFault) -> Int {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .last }
        return Int(status.st_size)
    }

    /// Appends complete lines. After a return the lines are on the disk. After an error none of them is in the file.
    func append(_ lines: [UInt8]) throws(FileFault) {
        guard isRegular else { return try appendToStream(lines) }
        let former = try size()
        do throws(FileFault) {
            var rest = lines[...]
            try write(&rest)
            guard fdatasync(descriptor) == 0 else { throw .last }
        } catch {
            cutBack(to: former)
            throw error
        }
    }

    /// Removes the partial lines of a failed append. If this fails, too, the next opening removes the unfinished line.
    private func cutBack(to former: Int) {
        // Another process may have truncated the file meanwhile. Extending it again would fill it with zeros.
        guard let present = try? size(), present > former else { return }
        _ = ftruncate(descriptor, off_t(former))
    }

    /// Writes to a pipe or device, which cannot be cut back. If the last write left a partial line, this write ends
    /// that line first.
    private func appendToStream(_ lines: [UInt8]) throws(FileFault) {
        let bytes = isMidLine ? [UInt8(ascii: "\n")] + lines : lines
        var rest = bytes[...]
        defer { if rest.count < bytes.count { isMidLine = !rest.isEmpty } }
        try write(&rest)
    }

    /// Writes all bytes. If it fails, `rest` has the bytes that were not written.
    private func write(_ rest: inout ArraySlice<UInt8>) throws(FileFault) {
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else {
                try recover(from: errno)
            }
        }
    }

    /// Waits until a failed write can be tried again. Throws if the error is permanent, or if the reader makes no room
    /// in time.
    private func recover(from code: Int32) throws(FileFault) {
        guard code != EINTR else { return }
        guard code == EAGAIN else { throw FileFault(code: code) }
        var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        guard poll(&room, 1, Self.timeLimit) != 0 else { throw FileFault(cause: "timed out") }
    }

    private static func open(_ path: String) throws(FileFault) -> (Int32, FileIdentity) {
        let known = FileIdentity(path: path)
        // Non-blocking, because a pipe without a reader would block the thread for ever. A pipe is opened for writing
        // only: otherwise it would be its own reader.
        let access = known?.isPipe == true ? O_WRONLY : O_RDWR
        // A link that another user made would lead to another user's file (Behaviour X8).
        let isShared = OwnFile.isInSharedDirectory(path)
        let flags = access | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (isShared ? O_NOFOLLOW : 0)
        if known == nil { try ParentDirectory(of: path).create() }
        let descriptor = Glibc.open(path, known == nil ? flags | O_CREAT : flags, 0o600)
        guard descriptor >= 0 else { throw .last }
        do throws(FileFault) {
            if known == nil { try ParentDirectory(of: path).sync() }
            if isShared { try refuseForeign(descriptor) }
            return (descriptor, try identity(of: descriptor))
        } catch {
            close(descriptor)
            throw error
        }
    }

    /// Refuses a file of another user in a directory that other users can write to (Behaviour X8).
    private static func refuseForeign(_ descriptor: Int32) throws(FileFault) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .last }
        guard status.st_uid == geteuid() else {
            throw FileFault(cause: "it belongs to another user, in a directory that others can write to")
        }
    }

    private static func identity(of descriptor: Int32) throws(FileFault) -> FileIdentity {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .last }
        return FileIdentity(status)
    }

    /// The time that the reader of a full pipe may take to make room, in milliseconds.
    private static let timeLimit: Int32 = 10_000
}

/// The last line of a file of events. A process that is killed during a write leaves an unfinished line. Its event was
/// never settled and is sent again, so the line may be removed.
private struct LastLine {
    private let descriptor: Int32
    private let size: Int

    init(of descriptor: Int32, size: Int) {
        self.descriptor = descriptor
        self.size = size
    }

    /// Ends the file with a complete line, and syncs it.
    func repair() throws(FileFault) {
        let start = try beginning()
        guard start < size else { return }
        let isTorn = try isTornEvent(start..<size)
        let isRepaired = isTorn ? ftruncate(descriptor, off_t(start)) == 0 : write(descriptor, "\n", 1) == 1
        // Without the sync a power failure could leave parts of the removed line between later lines.
        guard isRepaired, fdatasync(descriptor) == 0 else { throw .last }
    }

    /// Returns true if the line is an unfinished object (Behaviour K2). A complete line, or a line of another program,
    /// only lacks its line end.
    private func isTornEvent(_ range: Range<Int>) throws(FileFault) -> Bool {
        // No event is longer than this.
        guard try read(range.prefix(1)) == [UInt8(ascii: "{")], range.count <= Self.longest else { return false }
        let line = try read(range)
        do throws(JSONFault) {
            _ = try DataItem(parsing: line, maxDepth: JSONScanner.greatestDepth)
            return false
        } catch {
            // Only a dispatcher writes lines that begin like an event, so that any fault means an unfinished one.
            let isEvent = line.starts(with: LastLine.eventStart.utf8)
            let isFault = error == .notJSON || error == .notUTF8
            return isFault && (isEvent || JSONSyntaxError(about: line).isCutOff)
        }
    }

    private static let longest = 64 << 20
    /// The start of each event in its JSON form (``StoredEvent``).
    private static let eventStart = #"{"id":""#

    /// Returns the offset of the last line: behind the last LF, or the end of a file that ends with an LF.
    private func beginning() throws(FileFault) -> Int {
        var end = size
        while end > 0 {
            let start = max(0, end - Self.step)
            let bytes = try read(start..<end)
            if let lineEnd = bytes.lastIndex(of: UInt8(ascii: "\n")) { return start + lineEnd + 1 }
            end = start
        }
        return 0
    }

    private func read(_ range: Range<Int>) throws(FileFault) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: range.count)
        var filled = 0
        while filled < range.count {
            let count = bytes.withUnsafeMutableBytes { buffer in
                pread(descriptor, buffer.baseAddress! + filled, range.count - filled, off_t(range.lowerBound + filled))
            }
            guard count > 0 else { throw count < 0 ? .last : FileFault(cause: "the file became shorter") }
            filled += count
        }
        return bytes
    }

    private static let step = 64 * 1024
}

/// The creation time of a file.
private enum FileBirth {
    /// Returns the age of a file by the wall clock. It is zero if the file system does not report it, or if the clock
    /// was set back.
    static func age(of descriptor: Int32) -> Duration {
        var request = uv_fs_t()
        defer { uv_fs_req_cleanup(&request) }
        guard uv_fs_fstat(nil, &request, descriptor, nil) == 0 else { return .zero }
        let birth = request.statbuf.st_birthtim
        guard birth.tv_sec > 0 else { return .zero }
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return max(.zero, .seconds(now.tv_sec - birth.tv_sec) + .nanoseconds(now.tv_nsec - birth.tv_nsec))
    }
}
