import CSQLite
import HeadgateCore

/// Why a database could not be opened.
enum OpeningFault: Error {
    /// The file is no event store, or no longer.
    case damaged(String)
    case fault(StoreFault)

    /// Beside what SQLite calls damage, tables that are not there or not as they should be are damage as well: else the
    /// daemon could not start until somebody deletes the file.
    init(_ error: SQLiteError) {
        switch error.primaryCode {
        case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_ERROR, SQLITE_MISMATCH: self = .damaged(error.message)
        default: self = .fault(error.fault)
        }
    }

    /// Does work of SQLite's as a part of opening.
    static func of<Value>(_ work: () throws(SQLiteError) -> Value) throws(OpeningFault) -> Value {
        do { return try work() } catch { throw OpeningFault(error) }
    }
}
