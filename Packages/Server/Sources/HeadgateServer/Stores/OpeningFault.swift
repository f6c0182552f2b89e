import HeadgateCore

/// Why a database could not be opened.
enum OpeningFault: Error {
    /// The file is no event store, or no longer: that is what its header or SQLite says, and nothing else counts.
    case damaged(String)
    case fault(StoreFault)

    /// Damage is what SQLite calls so. Anything else, a statement that does not fit for one, may be the daemon's own slip,
    /// which must not cost anybody their events.
    init(_ error: SQLiteError) {
        self = error.isDamage ? .damaged(error.message) : .fault(error.fault)
    }

    /// Does work of SQLite's as a part of opening.
    static func of<Value>(_ work: () throws(SQLiteError) -> Value) throws(OpeningFault) -> Value {
        do { return try work() } catch { throw OpeningFault(error) }
    }
}
