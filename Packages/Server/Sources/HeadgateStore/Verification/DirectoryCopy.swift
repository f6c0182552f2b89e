import Glibc
import HeadgateCore

/// A copy of what a data directory has of stores, among the system's temporary files. It is gone with this object.
final class DirectoryCopy {
    let path: String
    private let disk = SystemDisk()
    private var files: [String] = []
    private var folders: [String] = []

    init(of directory: String) throws(StoreFault) {
        let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        path = "\(folder)/headgate-verify-\(getpid())"
        do throws(DiskFault) { try copy(directory, to: path) } catch {
            throw error.storeFault("cannot copy \(directory) to \(path)")
        }
    }

    deinit {
        for file in files { try? disk.remove(file) }
        for folder in folders.reversed() { rmdir(folder) }
    }

    private func copy(_ source: String, to target: String) throws(DiskFault) {
        try disk.makeDirectory(target)
        folders.append(target)
        for name in try disk.list(source) {
            let (from, to) = (source + "/" + name, target + "/" + name)
            switch DirectoryCopy.kind(of: from) {
            case S_IFDIR where name == "log": try copy(from, to: to)
            case S_IFREG where DirectoryCopy.isOfStore(name): try copyFile(from, to: to)
            default: break
            }
        }
    }

    private func copyFile(_ source: String, to target: String) throws(DiskFault) {
        let from = try disk.openForReading(source)
        files += ["", "-wal", "-shm"].map { target + $0 }
        let to = try disk.open(target, creating: true)
        var place = 0
        while true {
            let bytes = try from.read(place..<place + DirectoryCopy.piece)
            guard !bytes.isEmpty else { return }
            try bytes.lend { (bytes) throws(DiskFault) in try to.write(bytes, at: place) }
            place += bytes.count
        }
    }

    /// Destinations may have their files in the same directory.
    private static func isOfStore(_ name: String) -> Bool {
        ["events.db", "events.db-wal"].contains(name) || name.hasSuffix(".log") || name.contains("-to-")
    }

    private static let piece = 1 << 20

    private static func kind(of path: String) -> mode_t {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & S_IFMT : 0
    }
}
