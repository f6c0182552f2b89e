import CSQLite

/// A prepared statement, kept for reuse.
final class SQLiteStatement {
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

    /// Carries the statement out and hands over its rows, until there are no more or `row` returns false.
    func run(
        _ values: ArraySlice<SQLiteValue>, row: (SQLiteRow) throws(SQLiteError) -> Bool
    ) throws(SQLiteError) {
        guard let value = values.first else { return try step(row) }
        let place = Int32(values.startIndex + 1)
        switch value {
        case .null: try check(sqlite3_bind_null(handle, place))
        case .number(let number): try check(sqlite3_bind_int64(handle, place, number))
        case .text(let text): try check(bind(text, place))
        case .blob(let bytes): return try bind(bytes, place, then: values.dropFirst(), row)
        }
        try run(values.dropFirst(), row: row)
    }

    private func bind(_ text: String, _ place: Int32) -> Int32 {
        // SQLITE_TRANSIENT, a cast that Swift cannot import: SQLite makes a copy of its own.
        let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        return sqlite3_bind_text(handle, place, text, Int32(text.utf8.count), transient)
    }

    /// Binds the bytes where they lie: the rest of the work is done before they go.
    private func bind(
        _ bytes: [UInt8], _ place: Int32, then rest: ArraySlice<SQLiteValue>,
        _ row: (SQLiteRow) throws(SQLiteError) -> Bool
    ) throws(SQLiteError) {
        try bytes.withUnsafeBufferPointer { buffer throws(SQLiteError) in
            guard let start = buffer.baseAddress, !buffer.isEmpty else {
                try check(sqlite3_bind_zeroblob(handle, place, 0))
                return try run(rest, row: row)
            }
            try check(sqlite3_bind_blob64(handle, place, start, UInt64(buffer.count), nil))
            try run(rest, row: row)
        }
    }

    private func step(_ row: (SQLiteRow) throws(SQLiteError) -> Bool) throws(SQLiteError) {
        defer {
            sqlite3_reset(handle)
            sqlite3_clear_bindings(handle)
        }
        while true {
            switch sqlite3_step(handle) {
            case SQLITE_DONE: return
            case SQLITE_ROW: guard try row(SQLiteRow(statement: handle)) else { return }
            case let code: throw SQLiteConnection.error(code, of: database)
            }
        }
    }

    private func check(_ code: Int32) throws(SQLiteError) {
        guard code != SQLITE_OK else { return }
        throw SQLiteConnection.error(code, of: database)
    }
}
