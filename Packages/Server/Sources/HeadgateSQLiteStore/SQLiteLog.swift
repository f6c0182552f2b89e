import CSQLite
import Glibc

/// The log that SQLite keeps beside a database file, and that may not be on the disk though it can be read (Behaviour
/// Q5).
///
/// After a failed sync the system may count bytes as written that never reached the disk: they can be read, and no
/// later sync reports them. A power failure would lose them, and every commit after them. It is unknown whether an
/// earlier process met such a fault, or lived to sync the log's name. So, before anything relies on an uncertain log,
/// the store writes it over itself, and syncs it and its name (decision 37).
final class SQLiteLog {
    /// The log is moved into the file when it has so many pages: more often costs throughput, less often makes single commits wait
    /// longer.
    static let mostPages = 1_000

    private let path: String
    private let rewrite: @Sendable (String) -> Int32
    /// True if all that can be read in the log is on the disk, or will be with the next sync that succeeds.
    private(set) var isCertain = false

    /// - Parameters:
    ///   - path: the database's file.
    ///   - rewrite: writes a file over itself, and syncs it and its name; returns an `errno`, or 0.
    init(ofDatabase path: String, rewrite: @escaping @Sendable (String) -> Int32) {
        (self.path, self.rewrite) = (path + "-wal", rewrite)
    }

    /// Notes that something went wrong with the log.
    func doubt() {
        isCertain = false
    }

    /// Sees to it that the log can be relied on.
    func makeCertain() throws(SQLiteError) {
        guard !isCertain else { return }
        let code = rewrite(path)
        guard code == 0 else {
            throw SQLiteError(
                code: SQLITE_IOERR, systemCode: code, message: "cannot sync \(path): \(String(cString: strerror(code)))"
            )
        }
        isCertain = true
    }

    private static let pieceSize = 1 << 20

    /// Writes a file of the machine's over itself, if there is one, and syncs it and its name.
    /// - Returns: an `errno`, or 0.
    @Sendable static func rewriteFile(_ path: String) -> Int32 {
        let file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard file >= 0 else { return errno == ENOENT ? syncDirectory(of: path) : errno }
        defer { close(file) }
        let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceSize, alignment: 1)
        defer { piece.deallocate() }
        var offset = 0
        while true {
            let count = pread(file, piece.baseAddress, piece.count, off_t(offset))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return errno }
            guard count > 0 else { break }
            let written = pwrite(file, piece.baseAddress, count, off_t(offset))
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { return written < 0 ? errno : EIO }
            offset += written
        }
        return fdatasync(file) == 0 ? syncDirectory(of: path) : errno
    }

    private static func syncDirectory(of path: String) -> Int32 {
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        let directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { return errno }
        defer { close(directory) }
        return fsync(directory) == 0 ? 0 : errno
    }
}
