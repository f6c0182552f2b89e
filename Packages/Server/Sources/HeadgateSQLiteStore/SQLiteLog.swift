import CSQLite
import Glibc

/// The write-ahead log that SQLite keeps beside a database file. It may be readable and not on the disk (Behaviour Q5).
///
/// After a failed sync, bytes can be read that never reached the disk, and no later sync reports them. A power failure
/// loses them and every later commit. Whether an earlier process had such a fault, or synced the log's name, is unknown.
/// Before anything relies on an uncertain log, the store overwrites it with its own content, and syncs it and its name
/// (decision 37).
final class SQLiteLog {
    /// The number of pages from which the log is moved into the file. A smaller number costs throughput. With a larger
    /// one, single commits wait longer.
    static let mostPages = 1_000

    private let path: String
    private let rewrite: @Sendable (String) -> Int32
    /// True if everything readable in the log is on the disk, or will be after the next successful sync.
    private(set) var isCertain = false

    /// - Parameters:
    ///   - path: the database's file.
    ///   - rewrite: overwrites a file with its own content, and syncs it and its name. Returns an `errno`, or 0.
    init(ofDatabase path: String, rewrite: @escaping @Sendable (String) -> Int32) {
        (self.path, self.rewrite) = (path + "-wal", rewrite)
    }

    /// Marks the log as uncertain, after a fault.
    func doubt() {
        isCertain = false
    }

    /// Makes the log certain, if it is not.
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

    /// Overwrites a file with its own content, if it exists, and syncs it and its name.
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
