import HeadgateCore
import Testing

@testable import HeadgateStore

/// The bytes on disk. A test here that fails says that files would be written that other versions read otherwise: then
/// `StoreSchema.version` has to grow, and `StoreSchema` to take the older ones over.
@Suite("SQLite event store: the bytes on disk")
struct StoreGoldenTests {
    let scene = StoreScene()

    @Test("Q11: the tables are those of version 4, in a new file and in one that was upgraded")
    func tables() throws {
        try scene.open()
        scene.close()
        #expect(StoreSchema.version == 4)
        #expect(try schema() == StoreGoldenTests.schemaOfVersion4)
        let columns = try text("SELECT group_concat(name) FROM pragma_table_info('recent_ids')")
        try SQLiteConnection(path: scene.databasePath).execute(
            "ALTER TABLE recent_ids DROP COLUMN form; PRAGMA user_version = 3")
        try scene.open()
        scene.close()
        #expect(try text("SELECT group_concat(name) FROM pragma_table_info('recent_ids')") == columns)
    }

    @Test("Q11: a stored group is these bytes")
    func group() throws {
        try scene.open()
        scene.append(Groups.of(7...7, route: 3, size: 2, timeToLive: .milliseconds(50), newRoutes: [3: [1, 258]]))
        let records =
            "ae000000030000000700000000000000e8030000000000001a0400000000000072000000020000000900000000000000"
            + hex(
                #"{"id":"event-7","seq":7,"event":"order","time":"1970-01-01T00:00:01.000Z","#
                    + #""received_at":"1970-01-01T00:00:01.000Z"{}{"n":"xx"}"#)
        #expect(try text("SELECT lower(hex(records)) FROM chunks") == records)
        #expect(try text("SELECT lower(hex(tallies)) FROM chunks") == "0300000001000000000000007e00000000000000")
        #expect(
            try text(
                """
                SELECT printf('%d %d %d %d %d %d %d',
                    last_seq, first_seq, first_receipt, last_receipt, first_expiry, last_expiry, checksum) FROM chunks
                """) == "7 7 1000 1000 1050 1050 -4365143588274581150")
        #expect(try text("SELECT lower(hex(dispatchers)) FROM routes WHERE number = 3") == "0100000002010000")
    }

    @Test("Q11: what a dispatcher has settled is these bytes")
    func settled() throws {
        try scene.open()
        let settled = Settled(through: 5, and: [7...9, 310...310])
        scene.write(.dispatcher(StoredDispatcher(number: 1, id: "a", settled: settled)))
        // 7 is 2 behind 5, and 3 long; 310 is 301 behind 9, and 1 long.
        #expect(try text("SELECT lower(hex(ranges)) FROM dispatchers") == "0203ad0201")
    }

    @Test("Q11: ids, and what is kept under a name, are the bytes that were given")
    func given() throws {
        try scene.open()
        let ids = RecentIDs(lastSequenceNumber: 9, receivedStamp: 8, count: 1, bytes: [1, 2, 3])
        scene.append(Groups.of(9...9, recentIDs: ids))
        scene.write(.keep("name", [4, 5]))
        #expect(
            try text("SELECT printf('%d %d %d %d ', last_seq, received_stamp, count, form) || hex(ids) FROM recent_ids")
                == "9 8 1 2 010203")
        #expect(try text("SELECT hex(value) FROM kept WHERE name = 'name'") == "0405")
    }

    private func text(_ query: String) throws -> String {
        var text = ""
        try SQLiteConnection(path: scene.databasePath).query(query) { row throws(SQLiteError) in
            text = row.text(0)
            return false
        }
        return text
    }

    /// The statements without their white space, which means nothing.
    private func schema() throws -> [String] {
        var statements: [String] = []
        try SQLiteConnection(path: scene.databasePath).query(
            "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY name"
        ) { row throws(SQLiteError) in
            statements.append(row.text(0).split(whereSeparator: \.isWhitespace).joined(separator: " "))
            return true
        }
        return statements
    }

    private static let schemaOfVersion4 = [
        "CREATE INDEX chunk_tallies ON chunks "
            + "(first_seq, tallies, first_receipt, last_receipt, first_expiry, last_expiry)",
        "CREATE TABLE chunks ( last_seq INTEGER PRIMARY KEY, first_seq INTEGER NOT NULL, tallies BLOB NOT NULL, "
            + "first_receipt INTEGER NOT NULL, last_receipt INTEGER NOT NULL, first_expiry INTEGER NOT NULL, "
            + "last_expiry INTEGER NOT NULL, checksum INTEGER NOT NULL, records BLOB NOT NULL ) STRICT",
        "CREATE TABLE dead_letters ( letter INTEGER PRIMARY KEY AUTOINCREMENT, dispatcher INTEGER NOT NULL, "
            + "seq INTEGER NOT NULL, reason TEXT NOT NULL, status INTEGER, attempts INTEGER NOT NULL, "
            + "first_failed_at INTEGER NOT NULL, died_at INTEGER NOT NULL, size INTEGER NOT NULL, answer TEXT, "
            + "checksum INTEGER NOT NULL, record BLOB NOT NULL ) STRICT",
        "CREATE TABLE dispatchers ( number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, position INTEGER NOT NULL, "
            + "ranges BLOB NOT NULL, orphaned_since INTEGER ) STRICT",
        "CREATE TABLE kept ( name TEXT PRIMARY KEY, value BLOB NOT NULL ) STRICT, WITHOUT ROWID",
        "CREATE TABLE quarantined ( last_seq INTEGER PRIMARY KEY, first_seq INTEGER, tallies BLOB, checksum INTEGER, "
            + "records BLOB ) STRICT",
        "CREATE TABLE recent_ids ( last_seq INTEGER PRIMARY KEY, received_stamp INTEGER NOT NULL, "
            + "count INTEGER NOT NULL, ids BLOB NOT NULL, form INTEGER NOT NULL DEFAULT 1 ) STRICT",
        "CREATE TABLE routes ( number INTEGER PRIMARY KEY, dispatchers BLOB NOT NULL ) STRICT",
    ]

    private func hex(_ text: String) -> String {
        text.utf8.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}
