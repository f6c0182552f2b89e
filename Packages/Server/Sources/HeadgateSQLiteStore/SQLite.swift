import CSQLite
import Glibc
import HeadgateCore

/// A connection to one database file. One thread uses it. It prepares each statement once.
final class SQLiteConnection {
    private let handle: OpaquePointer
    private let log: SQLiteLog
    /// True if each commit is synced.
    private let isSynced: Bool
    private var statements: [String: SQLiteStatement] = [:]
    private var isClosed = false

    /// The time to wait for another program's lock before it counts as a fault.
    private static let busyMilliseconds: Int32 = 5_000

    /// Opens a file for reading and writing, and creates it if it is missing.
    convenience init(_ options: SQLiteOptions) throws(SQLiteError) {
        let log = SQLiteLog(ofDatabase: options.path, rewrite: options.rewriteLog)
        try self.init(path: options.path, on: options.fileSystem, log: log, isSynced: options.isSynced)
        moveLogWhenLong()
    }

    /// Opens a file.
    /// - Parameters:
    ///   - fileSystem: SQLite's name of the file system; nil selects the machine's own.
    ///   - isReadOnly: true to open the file for reading only.
    init(
        path: String, on fileSystem: String? = nil, log: SQLiteLog? = nil, isSynced: Bool = true,
        isReadOnly: Bool = false
    ) throws(SQLiteError) {
        (self.log, self.isSynced) = (log ?? SQLiteLog(ofDatabase: path, rewrite: SQLiteLog.rewriteFile), isSynced)
        var handle: OpaquePointer?
        let mode = isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        let code = sqlite3_open_v2(path, &handle, mode | SQLITE_OPEN_NOMUTEX, fileSystem)
        guard let handle else { throw SQLiteError(code: SQLITE_NOMEM, message: "out of memory") }
        guard code == SQLITE_OK else {
            defer { sqlite3_close_v2(handle) }
            throw SQLiteConnection.error(code, of: handle)
        }
        self.handle = handle
        sqlite3_extended_result_codes(handle, 1)
        sqlite3_busy_timeout(handle, SQLiteConnection.busyMilliseconds)
    }

    deinit {
        close()
    }

    /// Closes the file. The connection must not be used afterwards.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        if !log.isCertain { closeWithoutCheckpoint() }
        statements = [:]
        sqlite3_close_v2(handle)
    }

    /// Prevents the checkpoint of SQLite's log when the connection is closed, so that the file does not change.
    func closeWithoutCheckpoint() {
        var isSet: Int32 = 0
        headgate_no_checkpoint_on_close(handle, &isSet)
    }

    // MARK: SQLite's log

    /// Makes a commit that has made the log long move the log into the file. SQLite's own checkpoints do not report
    /// a sync that fails.
    private func moveLogWhenLong() {
        let context = Unmanaged.passUnretained(log).toOpaque()
        _ = sqlite3_wal_hook(
            handle,
            { context, handle, _, pages in
                guard let context, let handle, pages >= SQLiteLog.mostPages else { return SQLITE_OK }
                let log = Unmanaged<SQLiteLog>.fromOpaque(context).takeUnretainedValue()
                // A failure does not affect the commit. The checkpoint is tried again after the next commit.
                try? SQLiteConnection.move(log, of: handle, SQLITE_CHECKPOINT_PASSIVE)
                return SQLITE_OK
            }, context)
    }

    /// Makes sure that everything in the log is on the disk, including writes that an earlier process had not synced.
    func makeLogCertain() throws(SQLiteError) {
        try log.makeCertain()
    }

    /// Moves the log into the file, so that only one file is left.
    func emptyLog() throws(SQLiteError) {
        try SQLiteConnection.move(log, of: handle, SQLITE_CHECKPOINT_TRUNCATE)
    }

    private static func move(_ log: SQLiteLog, of handle: OpaquePointer, _ mode: Int32) throws(SQLiteError) {
        try log.makeCertain()
        let code = sqlite3_wal_checkpoint_v2(handle, nil, mode, nil, nil)
        guard code != SQLITE_OK else { return }
        log.doubt()
        throw error(code, of: handle)
    }

    // MARK: Statements

    /// Runs a statement.
    func run(_ sql: String, _ values: SQLiteValue...) throws(SQLiteError) { try run(sql, values) }

    /// Runs a statement.
    func run(_ sql: String, _ values: [SQLiteValue]) throws(SQLiteError) {
        try prepared(sql).run(values) { _ throws(SQLiteError) in true }
    }

    /// Runs a query, and passes its rows to `row` until that returns false.
    func query(
        _ sql: String, _ values: SQLiteValue..., row: (SQLiteRow) throws(SQLiteError) -> Bool
    ) throws(SQLiteError) {
        try prepared(sql).run(values, row: row)
    }

    /// Returns the first column of the first row; 0 if there is no row.
    func integer(_ sql: String, _ values: SQLiteValue...) throws(SQLiteError) -> Int64 {
        var result: Int64 = 0
        try prepared(sql).run(values) { row throws(SQLiteError) in
            result = row.integer(0)
            return false
        }
        return result
    }

    /// Runs statements that are used once, such as pragmas.
    func execute(_ sql: String) throws(SQLiteError) {
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw SQLiteConnection.error(code, of: handle) }
    }

    /// Does work in a transaction, which is rolled back if the work throws.
    func transaction(_ work: () throws(SQLiteError) -> Void) throws(SQLiteError) {
        if isSynced { try log.makeCertain() }
        try run("BEGIN IMMEDIATE")
        do {
            try work()
            try run("COMMIT")
        } catch {
            if error.primaryCode == SQLITE_IOERR { log.doubt() }
            rollBack()
            throw error
        }
    }

    /// Rolls the transaction back, unless the fault has ended it already, as a full disk does.
    private func rollBack() {
        guard sqlite3_get_autocommit(handle) == 0 else { return }
        sqlite3_exec(handle, "ROLLBACK", nil, nil, nil)
    }

    private func prepared(_ sql: String) throws(SQLiteError) -> SQLiteStatement {
        if let known = statements[sql] { return known }
        let statement = try SQLiteStatement(sql, database: handle)
        statements[sql] = statement
        return statement
    }

    fileprivate static func error(_ code: Int32, of handle: OpaquePointer) -> SQLiteError {
        SQLiteError(
            code: code, systemCode: sqlite3_system_errno(handle), message: String(cString: sqlite3_errmsg(handle)))
    }
}

/// A prepared statement, kept for reuse.
private final class SQLiteStatement {
    private let handle: OpaquePointer
    private let database: OpaquePointer

    init(_ sql: String, database: OpaquePointer) throws(SQLiteError) {
        var handle: OpaquePointer?
        let code = sqlite3_prepare_v3(database, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &handle, nil)
        guard code == SQLITE_OK, let handle else { throw SQLiteConnection.error(code, of: database) }
        self.handle = handle
        self.database = database
    }

    deinit {
        sqlite3_finalize(handle)
    }

    /// Runs the statement, and passes its rows to `row` until that returns false.
    func run(
        _ values: [SQLiteValue], row: (SQLiteRow) throws(SQLiteError) -> Bool
    ) throws(SQLiteError) {
        defer {
            sqlite3_reset(handle)
            sqlite3_clear_bindings(handle)
        }
        for (index, value) in values.enumerated() { try check(bind(value, Int32(index + 1))) }
        while true {
            switch sqlite3_step(handle) {
            case SQLITE_DONE: return
            case SQLITE_ROW: guard try row(SQLiteRow(statement: handle)) else { return }
            case let code: throw SQLiteConnection.error(code, of: database)
            }
        }
    }

    /// Binds a value to a parameter. SQLite copies the value.
    private func bind(_ value: SQLiteValue, _ index: Int32) -> Int32 {
        // SQLITE_TRANSIENT, a cast that Swift cannot import.
        let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        switch value {
        case .null: return sqlite3_bind_null(handle, index)
        case .number(let number): return sqlite3_bind_int64(handle, index, number)
        case .text(let text): return sqlite3_bind_text(handle, index, text, Int32(text.utf8.count), transient)
        case .utf8(let bytes):
            return bytes.withUnsafeBytes {
                let start = $0.bindMemory(to: CChar.self).baseAddress
                return sqlite3_bind_text64(handle, index, start, UInt64($0.count), transient, UInt8(SQLITE_UTF8))
            }
        // Without an address SQLite binds NULL.
        case .blob([]): return sqlite3_bind_zeroblob(handle, index, 0)
        case .blob(let bytes):
            return bytes.withUnsafeBytes {
                sqlite3_bind_blob64(handle, index, $0.baseAddress, UInt64($0.count), transient)
            }
        }
    }

    private func check(_ code: Int32) throws(SQLiteError) {
        guard code != SQLITE_OK else { return }
        throw SQLiteConnection.error(code, of: database)
    }
}

/// The present row of a statement. It is valid only within the closure that gets it.
struct SQLiteRow {
    let statement: OpaquePointer

    func integer(_ column: Int32) -> Int64 {
        sqlite3_column_int64(statement, column)
    }

    func text(_ column: Int32) -> String {
        String(decoding: bytes(column), as: UTF8.self)
    }

    func isNull(_ column: Int32) -> Bool {
        sqlite3_column_type(statement, column) == SQLITE_NULL
    }

    /// Returns a column's bytes in SQLite's memory. They are valid until the next row.
    func bytes(_ column: Int32) -> UnsafeRawBufferPointer {
        // SQLite's documentation requires this order: reading the blob may move it, and reading its size then does not.
        let start = sqlite3_column_blob(statement, column)
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column)))
    }

    /// Returns a copy of a column's bytes.
    func blob(_ column: Int32) -> [UInt8] {
        Array(bytes(column))
    }
}

/// A value for a parameter of a statement.
enum SQLiteValue {
    case null
    case number(Int64)
    case text(String)
    case blob([UInt8])
    /// Text in UTF-8.
    case utf8([UInt8])

    static func integer(_ value: some BinaryInteger) -> SQLiteValue {
        .number(Int64(truncatingIfNeeded: value))
    }

    /// Returns a value, or NULL for nil.
    static func optional(_ value: (some BinaryInteger)?) -> SQLiteValue {
        value.map { .integer($0) } ?? .null
    }

    /// Returns a value, or NULL for nil.
    static func optional(_ value: String?) -> SQLiteValue {
        value.map { .text($0) } ?? .null
    }
}
