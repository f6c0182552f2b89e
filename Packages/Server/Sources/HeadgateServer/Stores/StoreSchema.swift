/// The shape of the event store's database. Any change needs a new ``version``.
enum StoreSchema {
    /// `Hgte`, so that a file tells what it is.
    static let applicationID: UInt32 = 0x4867_7465
    static let version: UInt32 = 4

    /// The most damaged groups that are kept for whoever wants to look into them.
    static let mostQuarantined = 256

    /// Settings of a new file. They have to come before anything is written.
    ///
    /// A group of events goes into few large pages: with 16 KiB a commit costs a third less than with 4 KiB, and a lone
    /// event not noticeably more.
    static let layout = """
        PRAGMA page_size = 16384;
        PRAGMA auto_vacuum = NONE;
        PRAGMA journal_mode = WAL;
        """

    /// Settings of a connection.
    ///
    /// The log is moved into the file every 4 MiB: more often costs throughput, less often makes single commits wait
    /// longer. What was deleted is not overwritten: its pages are soon used again.
    static let connection = """
        PRAGMA synchronous = FULL;
        PRAGMA secure_delete = OFF;
        PRAGMA cache_size = -2048;
        PRAGMA wal_autocheckpoint = 256;
        PRAGMA journal_size_limit = 16777216;
        PRAGMA temp_store = MEMORY;
        PRAGMA trusted_schema = OFF;
        PRAGMA cell_size_check = ON;
        """

    /// Holds all that a start and the sweeper have to know, so that they read no events but those that are too old
    /// (Behaviour Q6).
    static let chunkIndex = """
        CREATE INDEX chunk_tallies ON chunks
            (first_seq, tallies, first_receipt, last_receipt, first_expiry, last_expiry);
        """

    /// One row of `chunks` is one committed group.
    static let tables = """
        CREATE TABLE chunks (
            last_seq INTEGER PRIMARY KEY,
            first_seq INTEGER NOT NULL,
            tallies BLOB NOT NULL,
            first_receipt INTEGER NOT NULL,
            last_receipt INTEGER NOT NULL,
            first_expiry INTEGER NOT NULL,
            last_expiry INTEGER NOT NULL,
            checksum INTEGER NOT NULL,
            records BLOB NOT NULL
        ) STRICT;
        \(chunkIndex)
        CREATE TABLE quarantined (
            last_seq INTEGER PRIMARY KEY,
            first_seq INTEGER,
            tallies BLOB,
            checksum INTEGER,
            records BLOB
        ) STRICT;
        CREATE TABLE dispatchers (
            number INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            position INTEGER NOT NULL,
            ranges BLOB NOT NULL,
            orphaned_since INTEGER
        ) STRICT;
        CREATE TABLE routes (
            number INTEGER PRIMARY KEY,
            dispatchers BLOB NOT NULL
        ) STRICT;
        CREATE TABLE recent_ids (
            last_seq INTEGER PRIMARY KEY,
            received_stamp INTEGER NOT NULL,
            count INTEGER NOT NULL,
            ids BLOB NOT NULL,
            form INTEGER NOT NULL DEFAULT 1
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
        """
}
