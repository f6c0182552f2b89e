import Glibc

/// The file of a dispatcher of kind `file`, through rotations and whatever others do to it (Behaviour K2).
// Unchecked: a sender hands it to its file's own thread, and all is called there alone.
final class EventFile: @unchecked Sendable {
    private let settings: FileSettings
    private let clock: @Sendable () -> Int64
    private var file: OpenFile?
    /// The file to which the settings' path leads, resolved when it is first needed: if that is a symbolic link, the file is
    /// written, and rotated, where its target is.
    private lazy var path = Self.resolved(settings.path)

    /// - Parameter clock: Nanoseconds of the monotonic clock.
    init(_ settings: FileSettings, clock: @escaping @Sendable () -> Int64) {
        self.settings = settings
        self.clock = clock
    }

    /// Appends whole lines. When this returns they are on the disk; when it throws, none of them is in the file. A file
    /// that is due is rotated before.
    func append(_ lines: [UInt8]) throws(FileFault) {
        let file = try fileWithRoom(for: lines.count)
        do throws(FileFault) {
            try file.append(lines)
        } catch {
            // Opening it anew makes it whole. A stream stays: only this object knows whether it is within a line.
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
        try Rotation(path: path, keep: settings.keep).run()
        return try currentFile()
    }

    private func currentFile() throws(FileFault) -> OpenFile {
        if let file, file.isStill(at: path) { return file }
        // Closed first: a lock would be in its own successor's way.
        close()
        let opened = try OpenFile(path: path, now: clock())
        file = opened
        return opened
    }

    /// Pipes and devices have no place beside which anything is rotated, and links in `/dev` and `/proc` lead to no name.
    private static func resolved(_ path: String) -> String {
        let kind = CanonicalPath.kind(of: path)
        return kind == nil || kind == S_IFREG ? CanonicalPath.of(path) : path
    }

    private func isDue(_ file: OpenFile, before count: Int) throws(FileFault) -> Bool {
        let size = try file.size()
        guard size > 0 else { return false }
        if let most = settings.rotateBytes, size + count > most { return true }
        guard let oldest = settings.rotateAge else { return false }
        return file.ageAtOpening + .nanoseconds(clock() - file.openedAt) >= oldest
    }
}

/// The directory that a file is in.
struct ParentDirectory {
    private let path: String

    init(of file: String) {
        guard let slash = file.lastIndex(of: "/") else {
            path = "."
            return
        }
        path = slash == file.startIndex ? "/" : String(file[..<slash])
    }

    /// Makes it with mode 0750 if it is missing. One that is to be in a missing directory itself is refused: that is
    /// rather a slip in the path.
    func create() throws(FileFault) {
        guard mkdir(path, 0o750) == 0 || errno == EEXIST else { throw .last }
    }

    /// Makes the names in it survive a loss of power.
    func sync() throws(FileFault) {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .last }
        defer { close(descriptor) }
        // Some file systems cannot do this, and have no need of it.
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw .last }
    }
}

/// Why something cannot be written to a dispatcher's file: a few words for people, always the same for the same cause.
struct FileFault: Error, Equatable {
    var cause: String

    init(cause: String) {
        self.cause = cause
    }

    /// The failure of the call just made.
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
            case ENXIO, EPIPE: "nobody reads the pipe"
            case EWOULDBLOCK: "in use by another process"
            default: String(cString: strerror(code)).lowercased()
            }
    }
}
