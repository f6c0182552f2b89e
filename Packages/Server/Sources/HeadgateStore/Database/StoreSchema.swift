import Glibc
import HeadgateCore

/// The shape of the event store's database. Any change needs a new ``version``.
enum StoreSchema {
    /// `Hgte`, so that a file tells what it is.
    static let applicationID: UInt32 = 0x4867_7465
    static let version: UInt32 = 4

    /// No store comes to more events, and to more dispatchers: a number beyond is damage (Behaviour Q8), and to count on from
    /// it might leave what numbers can say.
    static let mostEvents: SequenceNumber = 1 << 62
    static let mostDispatchers: DispatcherNumber = 1 << 30

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
    /// What was deleted is not overwritten: its pages are soon used again.
    static let connection = """
        PRAGMA synchronous = FULL;
        PRAGMA secure_delete = OFF;
        PRAGMA cache_size = -2048;
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

    // MARK: Older versions

    /// What makes a file of an older version one of the next, by the older version.
    private static let upgrades: [UInt32: String] = [2: agesOfGroups, 3: formOfIDs]

    /// What makes a file of an older version one of this; nil for a version that none has ever had.
    static func upgrade(from older: UInt32) -> String? {
        guard older < version else { return nil }
        let steps = (older..<version).map { upgrades[$0] }
        return steps.contains(nil) ? nil : steps.compactMap(\.self).joined(separator: "\n")
    }

    /// Nobody wrote down when the events of the older groups become too old. Their ages are therefore all that there may
    /// be, so the sweeper looks into these groups each time, until they are delivered.
    private static let agesOfGroups = """
        ALTER TABLE chunks ADD COLUMN first_receipt INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE chunks ADD COLUMN last_receipt INTEGER NOT NULL DEFAULT \(Int64.max);
        ALTER TABLE chunks ADD COLUMN first_expiry INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE chunks ADD COLUMN last_expiry INTEGER NOT NULL DEFAULT \(Int64.max);
        DROP INDEX chunk_tallies;
        \(chunkIndex)
        """

    /// The older rows hold ids as they are. They go with the window.
    private static let formOfIDs = """
        ALTER TABLE recent_ids ADD COLUMN form INTEGER NOT NULL DEFAULT \(RecentIDs.Form.plain.rawValue);
        """
}

/// What a database file says of itself.
struct DatabaseHeader {
    var applicationID: UInt32
    var userVersion: UInt32

    /// Whether a newer version wrote the file, so that it must not be touched.
    var isNewer: Bool {
        applicationID == StoreSchema.applicationID && userVersion > StoreSchema.version
    }

    /// Whether the file is an event store of this version, or of one that can be made this.
    var isOurs: Bool {
        applicationID == StoreSchema.applicationID && (userVersion == StoreSchema.version || upgrade != nil)
    }

    /// What makes the file one of this version; nil when it is one already, or none that can be.
    var upgrade: String? { StoreSchema.upgrade(from: userVersion) }
}

extension DatabaseHeader {
    /// How many bytes it is.
    static let size = 100
    private static let magic = Array("SQLite format 3\0".utf8)

    /// - Parameter bytes: the beginning of a file; nil where it is no database's.
    init?(_ bytes: [UInt8]) {
        guard bytes.count >= DatabaseHeader.size, bytes.starts(with: DatabaseHeader.magic) else { return nil }
        userVersion = DatabaseHeader.bigEndian(bytes[60..<64])
        applicationID = DatabaseHeader.bigEndian(bytes[68..<72])
    }

    private static func bigEndian(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        bytes.reduce(0) { $0 << 8 | UInt32($1) }
    }
}
