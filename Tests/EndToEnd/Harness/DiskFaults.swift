import Foundation

/// A file system of a few MiB in memory, mounted for one test. Only root may mount: who is not skips such tests.
struct SmallDisk {
    let path: String

    /// Whether this process may mount at all.
    static let isPossible: Bool = {
        guard let folder = try? TemporaryDirectory() else { return false }
        defer { folder.remove() }
        guard let disk = try? SmallDisk(at: folder.path) else { return false }
        disk.unmount()
        return true
    }()

    private static let size = 2 << 20

    /// Mounts it; the test unmounts it.
    init(at path: String) throws {
        self.path = path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        _ = try SystemError.check(mount("tmpfs", path, "tmpfs", 0, "size=\(Self.size),mode=700"), "mount \(path)")
    }

    /// Files may still be open: the mount goes when they are closed.
    func unmount() {
        umount2(path, Int32(MNT_DETACH))
    }

    /// Takes all the room that is left.
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

    /// Lets nobody write there any more.
    func makeReadOnly() throws {
        let flags = UInt(MS_REMOUNT) | UInt(MS_RDONLY)
        _ = try SystemError.check(mount("tmpfs", path, "tmpfs", flags, nil), "remount \(path)")
    }

    private var filler: String { path + "/filler" }
}

/// A library that a daemon loads before the C library: while a switch is on, one file cannot be synced, as on a disk that
/// has gone bad.
struct SyncFault {
    /// Environment of the process that is to have it.
    let environment: [String: String]
    private let switchPath: String

    /// - Parameters:
    ///   - name: The end of the file's path.
    ///   - hangs: Whether the disk does not answer, ever, instead of failing.
    init(in folder: String, for name: String, hangs: Bool = false) async throws {
        switchPath = folder + "/sync-fails"
        let (source, library) = (folder + "/fault.cpp", folder + "/fault.so")
        try Self.source(switchPath: switchPath, name: name, hangs: hangs).write(
            toFile: source, atomically: true, encoding: .utf8)
        try await CommandLineTool.run(
            program: "/usr/bin/g++", ["-shared", "-fPIC", "-o", library, source], in: folder)
        environment = ["LD_PRELOAD": library]
    }

    func set(_ fails: Bool) throws {
        if fails { try "".write(toFile: switchPath, atomically: true, encoding: .utf8) }
        if !fails { try FileManager.default.removeItem(atPath: switchPath) }
    }

    /// `fdatasync` as the C library has it, but for that file.
    private static func source(switchPath: String, name: String, hangs: Bool) -> String {
        #"""
        #include <algorithm>
        #include <cerrno>
        #include <string>
        #include <sys/syscall.h>
        #include <unistd.h>

        extern "C" int fdatasync(int descriptor) {
            char path[4096] = {};
            std::string link = "/proc/self/fd/" + std::to_string(descriptor), name = "\#(name)";
            std::string target(path, std::max<ssize_t>(0, readlink(link.c_str(), path, sizeof path)));
            bool isMeant = target.size() >= name.size() && target.substr(target.size() - name.size()) == name;
            if (isMeant && access("\#(switchPath)", F_OK) == 0) {
                while (\#(hangs)) pause();
                errno = EIO;
                return -1;
            }
            return syscall(SYS_fdatasync, descriptor);
        }
        """#
    }
}
