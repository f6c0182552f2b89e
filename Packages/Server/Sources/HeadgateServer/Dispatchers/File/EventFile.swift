import Glibc
import HeadgateTransport

/// The file of a dispatcher of kind `file`. It is rotated, and reopened if another process moves or removes it
/// (Behaviour K2).
// Unchecked: a sender passes this object to its file's thread, and only that thread calls it.
final class EventFile: @unchecked Sendable {
    private let settings: FileSettings
    private let clock: @Sendable () -> Int64
    private var file: OpenFile?
    /// The resolved path of the file, once it is known. If the settings' path is a symbolic link, the link's target is
    /// written and rotated, and later changes of the link have no effect.
    private var resolvedPath: String?

    /// - Parameter clock: returns nanoseconds of the monotonic clock.
    init(_ settings: FileSettings, clock: @escaping @Sendable () -> Int64) {
        self.settings = settings
        self.clock = clock
    }

    /// Appends complete lines. First rotates the file if it is full. After a return the lines are on the disk. After an
    /// error none of them is in the file.
    func append(_ lines: [UInt8]) throws(FileFault) {
        let file = try fileWithRoom(for: lines.count)
        do throws(FileFault) {
            try file.append(lines)
        } catch {
            // Opening the file again repairs its last line. A stream stays open: only this object knows whether a line
            // of it is unfinished.
            if file.isRegular { close() }
            throw error
        }
    }

    /// Closes the file; the next append opens it again.
    func close() {
        file = nil
    }

    private func fileWithRoom(for count: Int) throws(FileFault) -> OpenFile {
        let file = try currentFile()
        guard file.isRegular, try isDue(file, before: count) else { return file }
        close()
        try Rotation(path: try path(), keep: settings.keep).run()
        return try currentFile()
    }

    private func currentFile() throws(FileFault) -> OpenFile {
        let path = try path()
        if let file, file.isStill(at: path) { return file }
        // The old file is closed first, because its lock would block the new one.
        close()
        let opened = try OpenFile(path: path, now: clock())
        file = opened
        return opened
    }

    private func path() throws(FileFault) -> String {
        if let resolvedPath { return resolvedPath }
        let path = try Self.resolved(settings.path)
        resolvedPath = path
        return path
    }

    /// Resolves the path of a regular or new file. Pipes and devices are not rotated, and their links in `/dev` and
    /// `/proc` may have no named target. A link in a directory that other users can write to is not followed, because
    /// another user may have made it (Behaviour X8).
    private static func resolved(_ path: String) throws(FileFault) -> String {
        let kind = CanonicalPath.kind(of: path)
        guard kind == nil || kind == S_IFREG else { return path }
        let resolution = CanonicalPath.resolve(path)
        if let link = resolution.links.first(where: OwnFile.isInSharedDirectory) {
            throw FileFault(cause: "\(link) is a symbolic link in a directory that others can write to")
        }
        return resolution.path
    }

    private func isDue(_ file: OpenFile, before count: Int) throws(FileFault) -> Bool {
        let size = try file.size()
        guard size > 0 else { return false }
        if let most = settings.rotateBytes, size + count > most { return true }
        guard let oldest = settings.rotateAge else { return false }
        return file.ageAtOpening + .nanoseconds(clock() - file.openedAt) >= oldest
    }
}

/// The directory that contains a file.
struct ParentDirectory {
    private let path: String

    init(of file: String) {
        guard let slash = file.lastIndex(of: "/") else {
            path = "."
            return
        }
        path = slash == file.startIndex ? "/" : String(file[..<slash])
    }

    /// Creates the directory with mode 0750 if it is missing. Its own parent is not created, because a missing parent
    /// is probably a mistake in the path.
    func create() throws(FileFault) {
        guard mkdir(path, 0o750) == 0 || errno == EEXIST else { throw .last }
    }

    /// Syncs the directory, so that its names survive a power failure.
    func sync() throws(FileFault) {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .last }
        defer { close(descriptor) }
        // Some file systems return EINVAL, because they do not need this.
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw .last }
    }
}

/// The reason why a dispatcher's file cannot be written: a short text for people, always equal for the same cause.
struct FileFault: Error, Equatable {
    var cause: String

    init(cause: String) {
        self.cause = cause
    }

    /// The failure of the last system call.
    static var last: FileFault {
        FileFault(code: errno)
    }

    init(code: Int32) {
        cause =
            switch code {
            case ENOSPC: "no space left on device"
            case EDQUOT: "disk quota exceeded"
            case EACCES, EPERM: "permission denied"
            case EROFS: "read-only file system"
            case ENOENT: "no such directory"
            case ENXIO, EPIPE: "the pipe has no reader"
            case EWOULDBLOCK: "in use by another process"
            default: String(cString: strerror(code)).lowercased()
            }
    }
}
