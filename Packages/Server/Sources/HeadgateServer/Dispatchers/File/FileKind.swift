import Glibc
import HeadgateCore
import HeadgateData

/// Dispatchers that write to a file (Behaviour K2).
struct FileKind: DispatcherKind {
    let name = "file"

    func read(_ entry: SettingsReader, common: inout DispatcherSettings) -> FileSettings {
        entry.require("path")
        var settings = FileSettings(path: entry.filePath("path") ?? "")
        settings.rotateBytes = entry.integer("rotate_bytes", in: 1...SettingsReader.most)
        settings.rotateAge = entry.seconds("rotate_s")
        entry.integer("keep", in: 0...1_000_000, into: &settings.keep)
        if !settings.path.isEmpty { settings.checkPath(entry, dispatcher: common.id) }
        return settings
    }

    func reachesNetwork(_ settings: FileSettings) -> Bool { false }

    func makeSender(
        of dispatcher: String, _ settings: FileSettings, in surroundings: SenderSurroundings
    ) throws -> any Sender {
        var settings = settings
        if !settings.path.hasPrefix("/") { settings.path = "\(surroundings.dataDirectory)/\(settings.path)" }
        return try FileSender(settings, loop: surroundings.requireLoop(), threads: surroundings.fileThreads)
    }
}

/// What a dispatcher of kind `file` can be told beyond what all can.
struct FileSettings: Sendable, Equatable {
    /// The file; a relative path is relative to the data directory.
    var path: String
    /// The size that makes the file be rotated; nil: never.
    var rotateBytes: Int?
    /// The age that makes the file be rotated; nil: never.
    var rotateAge: Duration?
    /// How many rotated files stay besides the current one.
    var keep = 5

    /// Whether full files are put aside, under the path followed by a dot and a number.
    var rotates: Bool { rotateBytes != nil || rotateAge != nil }

    /// Finds what keeps the path from being written: the store's own names, other dispatchers' files, and what is no file.
    fileprivate func checkPath(_ entry: SettingsReader, dispatcher: String) {
        let target = FileTarget(path, in: entry.directory)
        if target.isStores {
            entry.fault("path", "", "is a name that the daemon itself uses in the data directory")
        } else if path.hasSuffix("/") || target.isDirectory {
            entry.fault("path", "", "must be a file, not a directory")
        } else if target.isUnwritableKind {
            entry.fault("path", "", "must be a file, a pipe or a character device")
        } else if !target.isDevice {
            // Two that write one file would rotate it away under each other.
            entry.claim(
                "path", "file", target.path, for: "dispatcher `\(dispatcher)`", isNumbered: rotates)
        }
    }
}

/// The file to which a dispatcher's path leads, whatever its spelling.
private struct FileTarget {
    /// The path without links and detours, where the data directory is known.
    let path: String
    /// True if it is a name that the daemon uses in the data directory.
    let isStores: Bool
    private let kind: mode_t?

    /// - Parameter directory: the data directory; nil: the machine's files are not looked at.
    init(_ path: String, in directory: String?) {
        guard let directory else {
            let steps = path.split(separator: "/").filter { $0 != "." }
            self.path = (path.hasPrefix("/") ? "/" : "") + steps.joined(separator: "/")
            isStores = !path.hasPrefix("/") && steps.first.map { DataDirectory.owns(String($0)) } == true
            kind = nil
            return
        }
        let root = CanonicalPath.of(directory)
        self.path = CanonicalPath.of(path.hasPrefix("/") ? path : "\(root)/\(path)")
        let inside = self.path.hasPrefix(root + "/") ? self.path.dropFirst(root.count + 1) : ""
        isStores = inside.split(separator: "/").first.map { DataDirectory.owns(String($0)) } == true
        kind = CanonicalPath.kind(of: self.path)
    }

    var isDirectory: Bool { kind == S_IFDIR }

    /// True for sockets and disks.
    var isUnwritableKind: Bool { kind == S_IFSOCK || kind == S_IFBLK }

    /// True for a device like `/dev/null`, which dispatchers may share.
    var isDevice: Bool { kind.map { $0 == S_IFCHR } ?? path.hasPrefix("/dev/") }
}
