import Foundation

/// A file system of a few MiB in memory, mounted for one test. Needs the rights to mount.
final class SmallDisk {
    let path = NSTemporaryDirectory() + "/headgate-disk-" + UUID().uuidString

    /// Whether this process may mount at all.
    static let isPossible: Bool = (try? SmallDisk()) != nil

    private static let size = 2 << 20

    init() throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        guard mount("tmpfs", path, "tmpfs", 0, "size=\(SmallDisk.size)") == 0 else {
            let code = errno
            rmdir(path)
            throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EPERM)
        }
    }

    deinit {
        // Files may still be open: the mount goes when they are closed.
        umount2(path, Int32(MNT_DETACH))
        rmdir(path)
    }

    private var filler: String { path + "/filler" }

    /// Takes most of the room.
    func fill() throws {
        try Data(repeating: 0, count: SmallDisk.size - 900_000).write(to: URL(fileURLWithPath: filler))
    }

    func makeRoom() throws {
        try FileManager.default.removeItem(atPath: filler)
    }
}
