import Glibc
import HeadgateTransport

/// Reports changes of a file, or of the names in its folder, at once (inotify). It lives on the loop's thread.
///
/// It reports nothing if the kernel has no watches left, or if it does not see changes, as on a network file system. So
/// the caller must also check at intervals.
final class FileChanges {
    private let descriptor: OwnedDescriptor
    private var watch: DescriptorWatch?
    private var file: Int32 = -1
    private var folder: Int32 = -1

    /// Makes a reporter that watches nothing yet. It calls `action` after changes. Returns nil if inotify cannot be
    /// used.
    init?(on loop: EventLoop, _ action: @escaping () -> Void) {
        let descriptor = OwnedDescriptor(inotify_init1(Int32(O_NONBLOCK | O_CLOEXEC)))
        guard descriptor.number >= 0 else { return nil }
        self.descriptor = descriptor
        watch = try? DescriptorWatch(readable: descriptor.number, on: loop) {
            FileChanges.drain(descriptor.number)
            action()
        }
        guard watch != nil else { return nil }
    }

    /// True if changes of the file are reported.
    var isWatchingFile: Bool { file >= 0 }

    /// Watches the folder of a path.
    func watchFolder(of path: String) {
        guard folder < 0 else { return }
        let end = path.lastIndex(of: "/")
        folder = inotify_add_watch(
            descriptor.number, end.map { String(path[...$0]) } ?? ".",
            UInt32(IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE))
    }

    /// Watches an open file instead of the former one.
    func watchFile(_ open: FollowedFile) {
        if file >= 0 { inotify_rm_watch(descriptor.number, file) }
        file = inotify_add_watch(descriptor.number, open.pathOfDescriptor, UInt32(IN_MODIFY | IN_ATTRIB))
    }

    private static func drain(_ descriptor: Int32) {
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while read(descriptor, &buffer, buffer.count) > 0 {}
    }
}
