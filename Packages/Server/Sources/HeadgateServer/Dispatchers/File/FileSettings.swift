import Glibc
import HeadgateData

/// The settings of a dispatcher of kind `file`, beyond those that all kinds have.
struct FileSettings: Sendable, Equatable {
    /// The path of the file. A relative path starts at the data directory.
    var path: String
    /// The size, in bytes, at which the file is rotated. Nil means never.
    var rotateBytes: Int?
    /// The age at which the file is rotated. Nil means never.
    var rotateAge: Duration?
    /// The number of rotated files to keep, besides the current file.
    var keep = 5

    /// A Boolean value that says whether the file is ever rotated to a name that ends with a dot and a number.
    var rotates: Bool { rotateBytes != nil || rotateAge != nil }

    /// Refuses paths that cannot be written: the daemon's own names, other dispatchers' files, and directories, sockets
    /// and disks.
    func checkPath(_ entry: SettingsReader, dispatcher: String) {
        let target = FileTarget(path, in: entry.directory)
        if target.isReserved {
            entry.fault("path", "", "is a name that the daemon itself uses in the data directory")
        } else if path.hasSuffix("/") || target.isDirectory {
            entry.fault("path", "", "must be a file, not a directory")
        } else if target.isUnwritableKind {
            entry.fault("path", "", "must be a file, a pipe or a character device")
        } else if !target.isDevice {
            // Two dispatchers that write one file would rotate it away from each other.
            entry.claim(
                "path", "file", target.path, for: "dispatcher `\(dispatcher)`", isNumbered: rotates)
        }
    }
}

/// The file that a dispatcher's path leads to, however the path is spelled.
private struct FileTarget {
    /// The resolved path, if the data directory is known.
    let path: String
    /// True if the daemon itself uses the path in the data directory.
    let isReserved: Bool
    private let kind: mode_t?

    /// - Parameter directory: the data directory, or nil to skip the checks of the machine's files.
    init(_ path: String, in directory: String?) {
        guard let directory else {
            let steps = path.split(separator: "/").filter { $0 != "." }
            self.path = (path.hasPrefix("/") ? "/" : "") + steps.joined(separator: "/")
            isReserved = !path.hasPrefix("/") && steps.first.map { DataDirectory.isReserved(String($0)) } == true
            kind = nil
            return
        }
        let root = CanonicalPath.of(directory)
        self.path = CanonicalPath.of(path.hasPrefix("/") ? path : "\(root)/\(path)")
        let inside = self.path.hasPrefix(root + "/") ? self.path.dropFirst(root.count + 1) : ""
        isReserved = inside.split(separator: "/").first.map { DataDirectory.isReserved(String($0)) } == true
        kind = CanonicalPath.kind(of: self.path)
    }

    var isDirectory: Bool { kind == S_IFDIR }

    /// True for sockets and block devices.
    var isUnwritableKind: Bool { kind == S_IFSOCK || kind == S_IFBLK }

    /// True for a device like `/dev/null`, which several dispatchers may write to.
    var isDevice: Bool { kind.map { $0 == S_IFCHR } ?? path.hasPrefix("/dev/") }
}
