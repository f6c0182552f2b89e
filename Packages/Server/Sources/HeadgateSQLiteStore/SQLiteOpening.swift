import CSQLite
import Glibc
import HeadgateCore
import HeadgateTransport

/// The opening of a database. It creates a missing file. A damaged one is renamed, and the start continues with a new one
/// (Behaviour Q8).
struct SQLiteOpening {
    let options: SQLiteOptions

    func run() throws(StoreFault) -> (SQLiteTables, StoredState) {
        try prepareFile()
        do throws(SQLiteError) { return try open() } catch {
            // Any other fault may be one of the daemon, which must not lose events.
            guard error.isDamage else { throw error.fault }
            return try startAfresh(error.message)
        }
    }

    private func startAfresh(_ reason: String) throws(StoreFault) -> (SQLiteTables, StoredState) {
        let name = try setAside()
        try prepareFile()
        do throws(SQLiteError) {
            var (tables, state) = try open(numbersBehind: max(0, options.wall() * 1_000))
            state.warnings.append("the event store was damaged (\(reason)) and was renamed to \(name)")
            return (tables, state)
        } catch {
            throw error.fault
        }
    }

    /// Renames the file, and the files that SQLite keeps beside it.
    private func setAside() throws(StoreFault) -> String {
        let preferred = "\(options.path).damaged-\(options.wall())"
        var (name, count) = (preferred, 1)
        while access(name, F_OK) == 0 {
            count += 1
            name = "\(preferred)-\(count)"
        }
        guard rename(options.path, name) == 0 else {
            throw .failed("cannot rename \(options.path): \(String(cString: strerror(errno)))")
        }
        // Either may be missing.
        for suffix in ["-wal", "-shm"] { _ = rename(options.path + suffix, name + suffix) }
        return name
    }

    /// - Parameter number: the number after which events of a new database are numbered. Destinations could take events
    ///   with reused numbers for duplicates.
    private func open(numbersBehind number: SequenceNumber = 0) throws(SQLiteError) -> (SQLiteTables, StoredState) {
        let connection = try SQLiteConnection(options)
        do throws(SQLiteError) {
            try prepare(connection, number)
            // Events that are read here count as safe: a repeated one is acknowledged as a duplicate (Behaviour Q7).
            if options.isSynced { try connection.makeLogCertain() }
            let state = try SQLiteState(connection).read(mostIDs: options.mostRecentIDs)
            return (SQLiteTables(connection, options, state), state)
        } catch {
            // A damaged file, or one of another version, stays unchanged.
            connection.closeWithoutCheckpoint()
            throw error
        }
    }

    /// Creates a missing file, which only its owner may read. SQLite gives its other files the same mode.
    private func prepareFile() throws(StoreFault) {
        guard options.fileSystem == nil else { return }
        let descriptor = Glibc.open(options.path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        defer { if descriptor >= 0 { Glibc.close(descriptor) } }
        guard descriptor >= 0, fchmod(descriptor, 0o600) == 0 else {
            throw .failed("cannot open \(options.path): \(String(cString: strerror(errno)))")
        }
        // Another user may have put it into a directory that others can write to (Behaviour X8).
        guard OwnFile.isTrusted(descriptor, at: options.path) else {
            throw .failed("cannot open \(options.path): it is not a regular file of this user")
        }
    }

    /// Creates the tables of a new file, or checks the version of an existing one.
    private func prepare(_ connection: SQLiteConnection, _ number: SequenceNumber) throws(SQLiteError) {
        let isNew = try connection.integer("SELECT count(*) FROM sqlite_schema") == 0
        if !isNew { try check(connection) }
        try connection.execute(SQLiteSchema.connection(isSynced: options.isSynced))
        if let most = options.mostPages { try connection.execute("PRAGMA max_page_count = \(most)") }
        guard isNew else { return }
        try connection.transaction { () throws(SQLiteError) in
            try connection.execute(SQLiteSchema.tables)
            try connection.run("INSERT INTO numbers VALUES ('last_seq', ?)", .integer(number))
        }
    }

    private func check(_ connection: SQLiteConnection) throws(SQLiteError) {
        guard try connection.integer("PRAGMA application_id") == SQLiteSchema.applicationID else {
            throw SQLiteError(code: SQLITE_NOTADB, message: "the file is not an event store")
        }
        let version = try connection.integer("PRAGMA user_version")
        guard version != SQLiteSchema.version else { return }
        throw SQLiteError(
            code: SQLITE_ERROR, isOtherVersion: true,
            message:
                "\(options.path) has the format \(version), and this headgated knows only \(SQLiteSchema.version); "
                + "it was not changed")
    }
}

/// The schema of the database. Any change needs a new ``version``.
enum SQLiteSchema {
    /// The number `Hgte`, by which tools recognise the file.
    static let applicationID: Int64 = 0x4867_7465
    static let version: Int64 = 5

    static func connection(isSynced: Bool) -> String {
        """
        PRAGMA journal_mode = WAL;
        PRAGMA synchronous = \(isSynced ? "FULL" : "NORMAL");
        PRAGMA cache_size = -2048;
        PRAGMA journal_size_limit = 16777216;
        PRAGMA temp_store = MEMORY;
        PRAGMA trusted_schema = OFF;
        PRAGMA cell_size_check = ON;
        """
    }

    /// The columns `json` and `id` of an event are computed when a query uses them. The id is written as in JSON, with
    /// its escapes.
    static let tables = """
        CREATE TABLE events (
            seq INTEGER PRIMARY KEY,
            route INTEGER NOT NULL,
            size INTEGER NOT NULL,
            received INTEGER NOT NULL,
            expires INTEGER NOT NULL,
            id_length INTEGER NOT NULL,
            key_length INTEGER NOT NULL,
            checksum INTEGER NOT NULL,
            head TEXT NOT NULL,
            context TEXT NOT NULL,
            data TEXT NOT NULL,
            json TEXT GENERATED ALWAYS AS (head || ',"context":' || context || ',"data":' || data || '}') VIRTUAL,
            id TEXT GENERATED ALWAYS AS (CAST(substr(CAST(head AS BLOB), 8, id_length - 2) AS TEXT)) VIRTUAL
        ) STRICT;
        CREATE INDEX events_by_number ON events (seq, route, size, received, expires);
        CREATE TABLE dispatchers (
            number INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            position INTEGER NOT NULL,
            settled TEXT NOT NULL,
            orphaned_since INTEGER
        ) STRICT;
        CREATE TABLE routes (
            number INTEGER PRIMARY KEY,
            dispatchers TEXT NOT NULL
        ) STRICT;
        CREATE TABLE recent_ids (
            last_seq INTEGER PRIMARY KEY,
            received INTEGER NOT NULL,
            count INTEGER NOT NULL,
            form INTEGER NOT NULL,
            ids BLOB NOT NULL
        ) STRICT;
        CREATE TABLE dead_letters (
            letter INTEGER PRIMARY KEY AUTOINCREMENT,
            dispatcher INTEGER NOT NULL,
            seq INTEGER NOT NULL,
            reason TEXT NOT NULL,
            status INTEGER,
            attempts INTEGER NOT NULL,
            first_failed_at INTEGER NOT NULL,
            died_at INTEGER NOT NULL,
            size INTEGER NOT NULL,
            answer TEXT,
            checksum INTEGER NOT NULL,
            record BLOB NOT NULL
        ) STRICT;
        CREATE TABLE kept (
            name TEXT PRIMARY KEY,
            value BLOB NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE numbers (
            name TEXT PRIMARY KEY,
            value INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        PRAGMA application_id = \(applicationID);
        PRAGMA user_version = \(version);
        """
}
