import CSQLite

/// A connection to one database file, used by one thread. Statements are prepared once and kept.
final class SQLiteConnection {
    private let handle: OpaquePointer
    private var statements: [String: SQLiteStatement] = [:]

    /// How long to wait for another program's lock before it counts as a fault.
    private static let busyMilliseconds: Int32 = 5_000

    /// Opens an existing file.
    init(path: String) throws(SQLiteError) {
        var handle: OpaquePointer?
        let code = sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil)
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
        statements = [:]
        sqlite3_close_v2(handle)
    }

    /// Leaves the file as it is when the connection goes: nothing is moved from the log into it.
    func closeWithoutCheckpoint() {
        var isSet: Int32 = 0
        headgate_no_checkpoint_on_close(handle, &isSet)
    }

    /// Carries out a statement.
    func run(_ sql: String, _ values: SQLiteValue...) throws(SQLiteError) {
        try prepared(sql).run(values[...]) { _ throws(SQLiteError) in true }
    }

    /// Carries out a query and hands over its rows, until there are no more or `row` returns false.
    func query(
        _ sql: String, _ values: SQLiteValue..., row: (SQLiteRow) throws(SQLiteError) -> Bool
    ) throws(SQLiteError) {
        try prepared(sql).run(values[...], row: row)
    }

    /// The first column of the first row, 0 when there is none.
    func integer(_ sql: String, _ values: SQLiteValue...) throws(SQLiteError) -> Int64 {
        var result: Int64 = 0
        try prepared(sql).run(values[...]) { row throws(SQLiteError) in
            result = row.integer(0)
            return false
        }
        return result
    }

    /// Carries out statements that are not worth keeping, like pragmas.
    func execute(_ sql: String) throws(SQLiteError) {
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw SQLiteConnection.error(code, of: handle) }
    }

    /// Does all of `work` or nothing of it.
    func transaction(_ work: () throws(SQLiteError) -> Void) throws(SQLiteError) {
        try run("BEGIN IMMEDIATE")
        do {
            try work()
            try run("COMMIT")
        } catch {
            rollBack()
            throw error
        }
    }

    /// Some faults, a full disk for one, have ended the transaction already.
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

    static func error(_ code: Int32, of handle: OpaquePointer) -> SQLiteError {
        SQLiteError(
            code: code, systemCode: sqlite3_system_errno(handle), message: String(cString: sqlite3_errmsg(handle)))
    }
}
