import Glibc
import HeadgateCore

/// The opening of the database of a data directory, which makes it if there is none. A damaged file is set aside, and the
/// start goes on with a fresh one (Behaviour Q8).
private struct StoreOpening {
    private let options: SQLiteEventStore.Options
    private let directory: DataDirectory

    init(_ options: SQLiteEventStore.Options) throws(StoreFault) {
        self.options = options
        directory = try DataDirectory(options.directory)
    }

    private var path: String { directory.databasePath }

    func run() throws(StoreFault) -> (StoreDatabase, StoredState) {
        do throws(OpeningFault) {
            return try open()
        } catch {
            switch error {
            case .fault(let fault): throw fault
            case .damaged(let reason): return try startAfresh(reason)
            }
        }
    }

    private func startAfresh(_ reason: String) throws(StoreFault) -> (StoreDatabase, StoredState) {
        let name = try directory.setDatabaseAside()
        do throws(OpeningFault) {
            var (database, state) = try open(freshBehind: StoreOpening.numberAhead)
            state.warnings.append("the event store was damaged (\(reason)) and is set aside as \(name)")
            return (database, state)
        } catch {
            switch error {
            case .fault(let fault): throw fault
            case .damaged(let reason): throw .failed("\(path): \(reason)")
            }
        }
    }

    /// The microseconds since 1970: a number that no damaged store has come to. Were the same numbers given again to
    /// other events, a destination might take them for those that it has (Behaviour K1, `Idempotency-Key`).
    private static var numberAhead: SequenceNumber {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return max(0, SequenceNumber(now.tv_sec) * 1_000_000 + SequenceNumber(now.tv_nsec) / 1_000)
    }

    /// - Parameter last: what a fresh store counts on from.
    private func open(
        freshBehind last: SequenceNumber = 0
    ) throws(OpeningFault) -> (StoreDatabase, StoredState) {
        if let header = DatabaseHeader(path: path) { try refuseNewer(header) }
        do throws(StoreFault) {
            try directory.prepareDatabase()
            if options.durability == .full { try directory.syncLog() }
        } catch {
            throw .fault(error)
        }
        let connection = try OpeningFault.of { () throws(SQLiteError) in try SQLiteConnection(path: path) }
        do throws(OpeningFault) {
            try prepare(connection, freshBehind: last)
            return try OpeningFault.of { () throws(SQLiteError) in try read(connection) }
        } catch {
            let error = StoreOpening.examined(error, connection)
            // What is damaged or of a newer version stays as it was found.
            connection.closeWithoutCheckpoint()
            throw error
        }
    }

    /// A fault may come of damage that SQLite has not met as such: then its own check finds it. There is no other way to
    /// tell a file that cannot be used any more from one that only this program cannot use.
    private static func examined(_ error: OpeningFault, _ connection: SQLiteConnection) -> OpeningFault {
        guard case .fault(.failed) = error else { return error }
        do throws(SQLiteError) {
            var verdict = "ok"
            try connection.query("PRAGMA quick_check(1)") { row throws(SQLiteError) in
                verdict = row.text(0)
                return false
            }
            return verdict == "ok" ? error : .damaged(verdict)
        } catch {
            return OpeningFault(error)
        }
    }

    private func read(_ connection: SQLiteConnection) throws(SQLiteError) -> (StoreDatabase, StoredState) {
        var (state, damaged) = try StoredStateReader(connection: connection)
            .state(mostIDs: options.mostRecentIDs)
        let database = StoreDatabase(
            connection, directory: directory, options: options, lastAppended: state.lastSequenceNumber)
        damaged.forEach(database.chunks.quarantine)
        if let oldest = state.recentIDs.first {
            database.note(.forgetIDs(through: oldest.lastSequenceNumber - 1))
        }
        state.warnings += damaged.map { "the group of events that ends with \($0) was damaged and is put aside" }
        return (database, state)
    }

    /// Sees to it that the file has the tables that it should have.
    private func prepare(
        _ connection: SQLiteConnection, freshBehind last: SequenceNumber
    ) throws(OpeningFault) {
        let isNew = try OpeningFault.of { () throws(SQLiteError) in
            try connection.integer("SELECT count(*) FROM sqlite_schema") == 0
        }
        let header = try StoreOpening.header(of: connection)
        if !isNew {
            try refuseNewer(header)
            guard header.isOurs else { throw .damaged("the file is not an event store") }
        }
        try OpeningFault.of { () throws(SQLiteError) in
            try connection.execute(StoreSchema.layout)
            try connection.execute(StoreSchema.connection)
            if let most = options.mostPages { try connection.execute("PRAGMA max_page_count = \(most)") }
            if isNew {
                try StoreOpening.create(connection, freshBehind: last)
            } else if let upgrade = header.upgrade {
                try StoreOpening.change(connection, upgrade)
            }
        }
    }

    /// The header as the log has it, which may be newer than the file's own.
    private static func header(of connection: SQLiteConnection) throws(OpeningFault) -> DatabaseHeader {
        try OpeningFault.of { () throws(SQLiteError) in
            DatabaseHeader(
                applicationID: UInt32(truncatingIfNeeded: try connection.integer("PRAGMA application_id")),
                userVersion: UInt32(truncatingIfNeeded: try connection.integer("PRAGMA user_version")))
        }
    }

    private func refuseNewer(_ header: DatabaseHeader) throws(OpeningFault) {
        guard header.isNewer else { return }
        throw .fault(
            .newerVersion(
                "\(path) was written by a newer headgated (version \(header.userVersion), "
                    + "this one knows \(StoreSchema.version)); it was left as it is"))
    }

    private static func create(
        _ connection: SQLiteConnection, freshBehind last: SequenceNumber
    ) throws(SQLiteError) {
        let identity = "PRAGMA application_id = \(StoreSchema.applicationID);"
        // What came before is put aside, with the file that it is in.
        let before = last > 0 ? "INSERT INTO quarantined (last_seq) VALUES (\(last));" : ""
        try change(connection, StoreSchema.tables + identity + before)
    }

    /// Gives the file the tables of this version, or leaves it as it was.
    private static func change(_ connection: SQLiteConnection, _ statements: String) throws(SQLiteError) {
        try connection.transaction { () throws(SQLiteError) in
            try connection.execute(statements)
            try connection.execute("PRAGMA user_version = \(StoreSchema.version)")
        }
        // Into the file with it, so that its header tells what it is.
        try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    }
}

extension StoreDatabase {
    /// Opens the database of a data directory.
    static func open(_ options: SQLiteEventStore.Options) throws(StoreFault) -> (StoreDatabase, StoredState) {
        try StoreOpening(options).run()
    }
}

/// Why a database could not be opened.
private enum OpeningFault: Error {
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
