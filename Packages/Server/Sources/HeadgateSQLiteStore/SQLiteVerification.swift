import Glibc
import HeadgateCore

/// Reads a database as a start does, with every event and dead letter, and reports its content. It changes nothing.
public struct SQLiteVerification {
    private let path: String

    /// - Parameter path: the database's file.
    public init(path: String) {
        self.path = path
    }

    /// Returns true if some dispatcher has events to send in the database, or there are dead letters.
    public func holdsAnything() throws(StoreFault) -> Bool {
        do throws(SQLiteError) {
            let connection = try SQLiteConnection(path: path, isReadOnly: true)
            guard try connection.integer("SELECT count(*) FROM sqlite_schema") > 0 else { return false }
            return try SQLiteState(connection).read(mostIDs: 0).holdsAnything
        } catch {
            throw error.fault
        }
    }

    /// Reads a copy of the database in the system's directory of temporary files, because SQLite cannot read its log
    /// without writing.
    public func run() throws(StoreFault) -> StoreReport {
        let copy = try DatabaseCopy(of: path)
        defer { withExtendedLifetime(copy) {} }
        var (tables, state) = try SQLiteOpening(options: SQLiteOptions(path: copy.path)).run()
        state.warnings = state.warnings.map { $0.replacing(copy.path, with: path) }
        var report = try StoreReport(
            kind: "sqlite", state: state, read: tables.read, readDeadLetters: tables.readDeadLetters)
        (report.diskBytes, report.damaged) = (tables.diskBytes, tables.takeLosses().lost)
        return report
    }
}

/// A copy of a database's files, which is removed with this object.
private final class DatabaseCopy {
    let path: String
    private let folder: String

    init(of database: String) throws(StoreFault) {
        let temporary = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        // Another user could have created a directory whose name can be guessed (Behaviour X8).
        var template = Array("\(temporary)/headgate-verify-XXXXXX".utf8CString)
        folder = mkdtemp(&template).map { String(cString: $0) } ?? ""
        path = folder + "/events.db"
        guard !folder.isEmpty, DatabaseCopy.copy(database, to: path) else {
            throw .failed("cannot copy \(database) to \(path): \(String(cString: strerror(errno)))")
        }
        if access(database + "-wal", F_OK) == 0 { _ = DatabaseCopy.copy(database + "-wal", to: path + "-wal") }
    }

    deinit {
        for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) }
        rmdir(folder)
    }

    private static func copy(_ source: String, to target: String) -> Bool {
        let from = Glibc.open(source, O_RDONLY | O_CLOEXEC)
        guard from >= 0 else { return false }
        defer { close(from) }
        let to = Glibc.open(target, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard to >= 0 else { return false }
        defer { close(to) }
        while true {
            let count = sendfile(to, from, nil, 1 << 20)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return count == 0 }
        }
    }
}
