import Glibc
import HeadgateData
import HeadgateTransport

/// A monitor of the free and total space of the data directory's file system.
///
/// The call to the kernel may block, so a short-lived thread makes it. ``room`` starts a new call when the last answer
/// is older than two seconds. The class lives on the loop's thread.
final class DiskWatch {
    private let directory: String
    private let loop: EventLoop
    private var isAsking = false
    private var requestedAt: Int64?
    private var found: DiskRoom?

    /// The age up to which an answer is reused, in nanoseconds.
    private static let validity: Int64 = 2_000_000_000

    /// - Parameter directory: the data directory.
    init(of directory: String, on loop: EventLoop) {
        (self.directory, self.loop) = (directory, loop)
        ask()
    }

    /// The latest answer, or nil before the first.
    var room: DiskRoom? {
        if requestedAt.map({ loop.monotonicNow - $0 >= DiskWatch.validity }) ?? true { ask() }
        return found
    }

    /// The warning that `status` shows, or nil if there is enough room.
    var warning: String? {
        guard let room, room.level != .enough else { return nil }
        if room.freeFiles == 0 { return "the disk has no free inodes: no files can be created at \(directory)" }
        let (free, total) = (room.freeBytes >> 20, room.totalBytes >> 20)
        return "the disk is nearly full: \(free) of \(total) MiB are free at \(directory)"
    }

    private func ask() {
        guard !isAsking, let thread = try? EventLoop.onNewThread(named: "headgate-disk") else { return }
        (isAsking, requestedAt) = (true, loop.monotonicNow)
        // Only the loop's thread touches the weak reference.
        nonisolated(unsafe) weak let watch = self
        thread.submit { [directory, loop] in
            let room = DiskWatch.room(of: directory)
            loop.submit { watch?.take(room) }
        }
        thread.stop()
    }

    private func take(_ room: DiskRoom?) {
        (isAsking, found) = (false, room)
    }

    private static func room(of directory: String) -> DiskRoom? {
        var status = statvfs()
        guard statvfs(directory, &status) == 0 else { return nil }
        // A file system without a fixed number of files reports 0 files.
        let freeFiles = status.f_files == 0 ? Int.max : Int(status.f_favail)
        return DiskRoom(
            freeBytes: Int(status.f_bavail) * Int(status.f_frsize),
            totalBytes: Int(status.f_blocks) * Int(status.f_frsize),
            freeFiles: freeFiles)
    }
}
