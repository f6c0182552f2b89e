import Foundation

/// A file system of a few MiB in memory, mounted for one test. Mounting requires root; other users skip such tests.
struct SmallDisk {
    let path: String

    /// True if this process may mount a file system.
    static let isPossible: Bool = {
        guard let folder = try? TemporaryDirectory() else { return false }
        defer { folder.remove() }
        guard let disk = try? SmallDisk(at: folder.path) else { return false }
        disk.unmount()
        return true
    }()

    private static let size = 2 << 20

    /// Mounts the file system. The test unmounts it.
    init(at path: String) throws {
        self.path = path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        _ = try SystemError.check(mount("tmpfs", path, "tmpfs", 0, "size=\(Self.size),mode=700"), "mount \(path)")
    }

    /// Unmounts the file system. While files are open, the kernel keeps the file system until they are closed.
    func unmount() {
        umount2(path, Int32(MNT_DETACH))
    }

    /// Fills the free space.
    func fill() throws {
        let flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC
        let descriptor = try SystemError.check(open(filler, flags, 0o600), "open \(filler)")
        defer { close(descriptor) }
        let page = [UInt8](repeating: 0, count: 4_096)
        while write(descriptor, page, page.count) > 0 {}
    }

    func makeRoom() throws {
        try FileManager.default.removeItem(atPath: filler)
    }

    /// Remounts the file system read-only.
    func makeReadOnly() throws {
        let flags = UInt(MS_REMOUNT) | UInt(MS_RDONLY)
        _ = try SystemError.check(mount("tmpfs", path, "tmpfs", flags, nil), "remount \(path)")
    }

    private var filler: String { path + "/filler" }
}
