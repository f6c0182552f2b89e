import CSQLite
import Glibc

/// The log that SQLite keeps beside a database file, as far as it must not be taken at its word (Behaviour Q5).
///
/// When a sync fails, the system may take for written what never reached the disk: it reads as if it were there, and no later
/// sync tells. A power failure would take it, and with it everything that was committed behind it. What an earlier process
/// met nobody knows, nor whether it lived to sync the log's name. So, before anything relies on a log that is not certain, it is
/// written over itself, and both are synced.
final class DatabaseLog {
    /// The log is moved into the file when it has so many pages, 4 MiB: more often costs throughput, less often makes
    /// single commits wait longer.
    static let mostPages = 256

    private let path: String
    private let directory: String
    private let disk: any Disk
    /// Whether all that can be read in it is on the disk, or will be with the next sync that succeeds.
    private(set) var isCertain = false

    private static let pieceSize = 1 << 20

    /// - Parameter path: the database file's.
    init(ofDatabase path: String, on disk: any Disk) {
        self.path = path + "-wal"
        directory = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        self.disk = disk
    }

    /// Something went wrong with it.
    func doubt() {
        isCertain = false
    }

    /// Sees to it that it can be relied on.
    func makeCertain() throws(SQLiteError) {
        guard !isCertain else { return }
        do throws(DiskFault) {
            try rewrite()
            // Its name as well, and that no older journal has one any more.
            try disk.syncDirectory(directory)
        } catch {
            throw SQLiteError(
                code: SQLITE_IOERR, systemCode: error.code,
                message: "cannot sync \(path): \(String(cString: strerror(error.code)))")
        }
        isCertain = true
    }

    /// Nobody else has the log, and this thread is not within a commit.
    private func rewrite() throws(DiskFault) {
        guard disk.exists(path) else { return }
        let file = try disk.open(path, creating: false)
        let size = try file.size()
        guard size > 0 else { return }
        let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: min(size, DatabaseLog.pieceSize), alignment: 1)
        defer { piece.deallocate() }
        for offset in stride(from: 0, to: size, by: piece.count) {
            let count = try file.read(into: piece, at: offset)
            try file.write(UnsafeRawBufferPointer(rebasing: piece[..<count]), at: offset)
        }
        try file.sync()
    }
}
