import CSQLite

/// The row at which a statement stands. Valid only inside the closure that it was handed to.
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

    /// The column's bytes where SQLite keeps them, until the row is left.
    func bytes(_ column: Int32) -> UnsafeRawBufferPointer {
        // The order is SQLite's advice: asking for the blob may move it, asking for its size then does not.
        let start = sqlite3_column_blob(statement, column)
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column)))
    }

    /// A copy of the column's bytes.
    func blob(_ column: Int32) -> [UInt8] {
        Array(bytes(column))
    }
}
