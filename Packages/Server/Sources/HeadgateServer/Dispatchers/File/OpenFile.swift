import CUV
import Glibc
import HeadgateData
import HeadgateWire

/// A file that is open for appending whole lines. It is closed with its last owner.
///
/// Regular files are locked against other writers, synced after each append, and cut back to their former size when one
/// fails. Pipes and devices, `/dev/null` for instance, know nothing of this and are only written to.
final class OpenFile {
    /// How long the file had existed when it was opened; zero where the file system does not tell.
    let ageAtOpening: Duration
    /// When it was opened, in nanoseconds of the monotonic clock.
    let openedAt: Int64

    private let descriptor: Int32
    private let identity: FileIdentity
    /// Whether a pipe or device has taken the beginning of a line only.
    private var isMidLine = false

    /// Opens the file, or makes it with mode 0600, and cuts away what a killed process left of a line.
    init(path: String, now: Int64) throws(FileFault) {
        (descriptor, identity) = try Self.open(path)
        openedAt = now
        ageAtOpening = FileBirth.age(of: descriptor)
        // From here on `deinit` closes the file if this throws.
        guard isRegular else { return }
        // A file system without locks has none to respect.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK else { throw .last }
        try LastLine(of: descriptor, size: try size()).repair()
    }

    deinit {
        // Closing alone would leave the lock to a program that another thread is just starting.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Whether it is a file proper, no pipe or device.
    var isRegular: Bool {
        identity.isRegular
    }

    /// Whether the path still leads to this file: somebody else may have moved or removed it.
    func isStill(at path: String) -> Bool {
        FileIdentity(path: path) == identity
    }

    func size() throws(FileFault) -> Int {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .last }
        return Int(status.st_size)
    }

    /// Appends whole lines. When this returns they are on the disk; when it throws, none of them is in the file.
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

    /// Takes away what a failure left. Where even this fails, the next opening cuts the half line away.
    private func cutBack(to former: Int) {
        // Somebody may have emptied the file meanwhile, and must not get zeros in the place of what was there.
        guard let present = try? size(), present > former else { return }
        _ = ftruncate(descriptor, off_t(former))
    }

    /// A stream cannot be cut back: the half line that a failure leaves is ended before the next one.
    private func appendToStream(_ lines: [UInt8]) throws(FileFault) {
        let bytes = isMidLine ? [UInt8(ascii: "\n")] + lines : lines
        var rest = bytes[...]
        defer { if rest.count < bytes.count { isMidLine = !rest.isEmpty } }
        try write(&rest)
    }

    /// Writes all; what is left of `rest` has not been written.
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

    /// Makes ready for another try where one is of use.
    private func recover(from code: Int32) throws(FileFault) {
        guard code != EINTR else { return }
        guard code == EAGAIN else { throw FileFault(code: code) }
        var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        guard poll(&room, 1, Self.patience) != 0 else { throw FileFault(cause: "timed out") }
    }

    private static func open(_ path: String) throws(FileFault) -> (Int32, FileIdentity) {
        let known = FileIdentity(path: path)
        // Not blocking, or a pipe that nobody reads would hold the thread for ever. Only a pipe must not be open for
        // reading as well: it would be its own reader.
        let access = known?.isPipe == true ? O_WRONLY : O_RDWR
        let flags = access | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK
        if known == nil { try ParentDirectory(of: path).create() }
        let descriptor = Glibc.open(path, known == nil ? flags | O_CREAT : flags, 0o600)
        guard descriptor >= 0 else { throw .last }
        do throws(FileFault) {
            if known == nil { try ParentDirectory(of: path).sync() }
            return (descriptor, try identity(of: descriptor))
        } catch {
            close(descriptor)
            throw error
        }
    }

    private static func identity(of descriptor: Int32) throws(FileFault) -> FileIdentity {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .last }
        return FileIdentity(status)
    }

    /// How long a full pipe's reader may take for a little room, in milliseconds.
    private static let patience: Int32 = 10_000
}

/// The last line of a file of events. A process that was killed while it wrote leaves a half one: it was never settled,
/// so it comes again and may be cut away.
private struct LastLine {
    private let descriptor: Int32
    private let size: Int

    init(of descriptor: Int32, size: Int) {
        self.descriptor = descriptor
        self.size = size
    }

    /// Makes the file end with a whole line, on the disk too.
    func repair() throws(FileFault) {
        let start = try beginning()
        guard start < size else { return }
        // What is no event was not written here, and is only ended.
        let isTorn = try isTornEvent(start..<size)
        let isRepaired = isTorn ? ftruncate(descriptor, off_t(start)) == 0 : write(descriptor, "\n", 1) == 1
        // Or, after a power cut, what was cut away could stand between parts of what is written in its place.
        guard isRepaired, fdatasync(descriptor) == 0 else { throw .last }
    }

    /// Returns true if the line is the beginning of an event: it opens an object and is no whole JSON (Behaviour K2). A whole
    /// line, and one that no dispatcher wrote, only lacks its end.
    private func isTornEvent(_ range: Range<Int>) throws(FileFault) -> Bool {
        guard try read(range.prefix(1)).first == UInt8(ascii: "{") else { return false }
        // No event is as long.
        guard range.count <= Self.longest else { return false }
        let line = try read(range)
        do throws(JSONFault) {
            _ = try DataItem(parsing: line, maxDepth: JSONScanner.greatestDepth)
            return false
        } catch {
            return error == .notJSON || error == .notUTF8
        }
    }

    private static let longest = 64 << 20

    /// Where it begins: behind the last LF; at the end of a file that ends with one.
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

/// When a file was made.
private enum FileBirth {
    /// How long ago, by the wall clock; zero where the file system does not tell, or the clock was set back.
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
