import HeadgateCore

/// The opening of the database of a data directory, which makes it if there is none. A damaged file is set aside, and the
/// start goes on with a fresh one (Behaviour Q8).
private struct DatabaseOpening {
    let options: DiskEventStore.Options
    let directory: DataDirectory
    /// What a database begins with that is made here.
    let founding: Founding

    private var path: String { directory.databasePath }

    func run() throws(StoreFault) -> (StoreDatabase, StoredState) {
        do throws(OpeningFault) {
            return try open(founding)
        } catch {
            switch error {
            case .fault(let fault): throw fault
            case .damaged(let reason): return try startAfresh(reason)
            }
        }
    }

    private func startAfresh(_ reason: String) throws(StoreFault) -> (StoreDatabase, StoredState) {
        let name = try directory.setDatabaseAside(at: options.wall())
        do throws(OpeningFault) {
            var (database, state) = try open(Founding(lastSequenceNumber: options.numberAhead))
            state.warnings.append("the event store was damaged (\(reason)) and is set aside as \(name)")
            return (database, state)
        } catch {
            switch error {
            case .fault(let fault): throw fault
            case .damaged(let reason): throw .failed("\(path): \(reason)")
            }
        }
    }

    /// - Parameter founding: what a fresh store begins with.
    private func open(_ founding: Founding) throws(OpeningFault) -> (StoreDatabase, StoredState) {
        if let header = directory.beginningOfDatabase(DatabaseHeader.size).flatMap(DatabaseHeader.init) {
            try refuseNewer(header)
        }
        do throws(StoreFault) { try directory.prepareDatabase() } catch { throw .fault(error) }
        let connection = try OpeningFault.of { () throws(SQLiteError) in
            try SQLiteConnection(path: path, on: options.disk)
        }
        do throws(OpeningFault) {
            try prepare(connection, founding)
            if options.durability == .full {
                // What is found here counts as safe: a repeat of it is acknowledged as a duplicate (Behaviour Q7).
                try OpeningFault.of { () throws(SQLiteError) in try connection.makeLogCertain() }
            }
            return try OpeningFault.of { () throws(SQLiteError) in
                try StoreDatabase.read(connection, directory: directory, options: options)
            }
        } catch {
            let error = DatabaseOpening.examined(error, connection)
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
            return verdict == "ok" || DatabaseOpening.tellsOfReading(verdict) ? error : .damaged(verdict)
        } catch {
            return OpeningFault(error)
        }
    }

    /// Whether SQLite's check could not read a page, and so says nothing of what is in it: what cannot be read now may be read later.
    private static func tellsOfReading(_ verdict: String) -> Bool {
        ["unable to get the page", "failed to get page"].contains { verdict.contains($0) }
    }

    /// Sees to it that the file has the tables that it should have.
    private func prepare(_ connection: SQLiteConnection, _ founding: Founding) throws(OpeningFault) {
        let isNew = try OpeningFault.of { () throws(SQLiteError) in
            try connection.integer("SELECT count(*) FROM sqlite_schema") == 0
        }
        let header = try DatabaseOpening.header(of: connection)
        if !isNew {
            try refuseNewer(header)
            guard header.isOurs else { throw .damaged("the file is not an event store") }
        }
        try OpeningFault.of { () throws(SQLiteError) in
            try connection.execute(StoreSchema.layout)
            try connection.execute(StoreSchema.connection)
            if let most = options.mostPages { try connection.execute("PRAGMA max_page_count = \(most)") }
            if isNew {
                try DatabaseOpening.create(connection, founding)
            } else if let upgrade = header.upgrade {
                try DatabaseOpening.change(connection, upgrade)
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

    private static func create(_ connection: SQLiteConnection, _ founding: Founding) throws(SQLiteError) {
        let identity = "PRAGMA application_id = \(StoreSchema.applicationID);"
        try change(connection, StoreSchema.tables + identity) { () throws(SQLiteError) in
            try FoundingRows(connection: connection).insert(founding)
        }
    }

    /// Gives the file the tables of this version, or leaves it as it was.
    private static func change(
        _ connection: SQLiteConnection, _ statements: String, rows: () throws(SQLiteError) -> Void = {}
    ) throws(SQLiteError) {
        try connection.transaction { () throws(SQLiteError) in
            try connection.execute(statements)
            try rows()
            try connection.execute("PRAGMA user_version = \(StoreSchema.version)")
        }
        // Into the file with it, so that its header tells what it is.
        try connection.emptyLog()
    }
}

extension StoreDatabase {
    /// Opens the database of a data directory.
    static func open(
        _ options: StoreOptions, in directory: DataDirectory, _ founding: Founding
    ) throws(StoreFault) -> (StoreDatabase, StoredState) {
        try DatabaseOpening(options: options, directory: directory, founding: founding).run()
    }

    /// Reads what a database keeps that has all its tables.
    static func read(
        _ connection: SQLiteConnection, directory: DataDirectory, options: DiskEventStore.Options
    ) throws(SQLiteError) -> (StoreDatabase, StoredState) {
        let strangers = try removeStrangers(connection)
        var (state, damaged) = try StoredStateReader(connection: connection).state(mostIDs: options.mostRecentIDs)
        let database = StoreDatabase(
            connection, directory: directory, options: options, lastAppended: state.lastSequenceNumber)
        damaged.forEach(database.chunks.quarantine)
        if let oldest = state.recentIDs.first {
            database.note(.forgetIDs(through: oldest.lastSequenceNumber - 1))
        }
        state.warnings += damaged.map { "the group of events that ends with \($0) was damaged and is put aside" }
        state.warnings += strangers.map { "what was kept of the dispatcher \($0) was damaged: it starts anew" }
        return (database, state)
    }

    /// Deletes what is kept of dispatchers under numbers that none can have: no event goes to such a number.
    /// - Returns: their ids.
    private static func removeStrangers(_ connection: SQLiteConnection) throws(SQLiteError) -> [String] {
        let meant = "number < 1 OR number > \(StoreSchema.mostDispatchers)"
        var ids: [String] = []
        try connection.query("SELECT id FROM dispatchers WHERE \(meant)") { row throws(SQLiteError) in
            ids.append(row.text(0))
            return true
        }
        if !ids.isEmpty { try connection.run("DELETE FROM dispatchers WHERE \(meant)") }
        return ids
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
