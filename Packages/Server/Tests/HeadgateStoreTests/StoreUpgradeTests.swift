import Foundation
import HeadgateCore
import Testing

@testable import HeadgateStore

@Suite("SQLite event store: files of older versions")
struct StoreUpgradeTests {
    let scene = StoreScene()

    /// `chunks` as version 2 had it.
    private let version2 = """
        DROP INDEX chunk_tallies;
        ALTER TABLE chunks RENAME TO later;
        CREATE TABLE chunks (
            last_seq INTEGER PRIMARY KEY,
            first_seq INTEGER NOT NULL,
            tallies BLOB NOT NULL,
            checksum INTEGER NOT NULL,
            records BLOB NOT NULL
        ) STRICT;
        INSERT INTO chunks SELECT last_seq, first_seq, tallies, checksum, records FROM later;
        DROP TABLE later;
        CREATE INDEX chunk_tallies ON chunks (first_seq, tallies);
        ALTER TABLE recent_ids DROP COLUMN form;
        PRAGMA user_version = 2;
        """

    /// `recent_ids` as version 3 had it.
    private let version3 = "ALTER TABLE recent_ids DROP COLUMN form; PRAGMA user_version = 3;"

    /// A store with some events, settled in part, as version 2 left it.
    private func makeOlder() throws {
        try scene.open()
        scene.append(Groups.of(1...4, newRoutes: [1: [1]]))
        scene.append(Groups.of(5...8, received: 1_000, timeToLive: .milliseconds(50)))
        scene.write(.dispatcher(.at(2)))
        scene.close()
        try SQLiteConnection(path: scene.databasePath).execute(version2)
    }

    private func aged(_ limit: AgeLimit, earlier: AgeLimit? = nil) throws -> [SequenceNumber] {
        let stretch = AgedStretch(after: 0, through: 100, limit: limit, earlier: earlier)
        return try scene.answer { scene.store.readAged(stretch, then: $0) }.get()?.map(\.sequenceNumber) ?? []
    }

    @Test("Q3, Q8: an older file is made one of this version, with all that it holds")
    func upgrade() throws {
        try makeOlder()
        let state = try scene.open()
        #expect(state.warnings.isEmpty && state.lastSequenceNumber == 8)
        #expect(state.dispatchers.map(\.position) == [2])
        #expect(state.unsettled[1]?[1]?.events == 6)
        #expect(try scene.numbers() == Array(1...8))
        #expect(scene.append(Groups.of(9...12)) == nil)
        for _ in 1...2 {
            #expect(try scene.sql("PRAGMA user_version") == Int64(StoreSchema.version))
            #expect(try scene.numbers() == Array(1...12))
            #expect(try scene.reopen().lastSequenceNumber == 12)
        }
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: scene.directory).allSatisfy { !$0.contains("damaged") })
    }

    @Test("Q4: whatever was stored by an older version may be too old, and is looked into; what comes later is known")
    func ages() throws {
        try makeOlder()
        try scene.open()
        scene.append(Groups.of(9...12, received: 1_000))
        scene.append(Groups.of(13...16, received: 1_000, timeToLive: .milliseconds(50)))
        let limit = AgeLimit(receivedBy: 10, endedBy: 2_000)
        #expect(try aged(limit) == Array(1...8) + Array(13...16))
        #expect(try aged(AgeLimit(receivedBy: 10, endedBy: 3_000), earlier: limit) == Array(1...8))
    }

    @Test("Q7, Q11: ids of an older file are taken over as they are, and new ones go beside them")
    func ids() throws {
        try scene.open()
        let plain = RecentIDs(lastSequenceNumber: 4, receivedStamp: 7, count: 2, form: .plain, bytes: [1, 2, 3])
        scene.append(Groups.of(1...4, recentIDs: plain))
        scene.close()
        try SQLiteConnection(path: scene.databasePath).execute(version3)
        #expect(try scene.open().recentIDs == [plain])
        let new = RecentIDs(lastSequenceNumber: 5, receivedStamp: 8, count: 1, bytes: [UInt8](repeating: 7, count: 32))
        scene.append(Groups.of(5...5, recentIDs: new))
        #expect(try scene.reopen().recentIDs == [plain, new])
    }

    @Test("Q8, Q11: an older file that cannot be upgraded stops the start, and stays as it was")
    func failedUpgrade() throws {
        try makeOlder()
        // The column that the upgrade is about to add.
        try SQLiteConnection(path: scene.databasePath).execute("ALTER TABLE chunks ADD COLUMN last_expiry INTEGER")
        let fault = #expect(throws: StoreFault.self) { try scene.open() }
        #expect(fault?.message.contains("duplicate column name: last_expiry") == true)
        #expect(try scene.sql("PRAGMA user_version") == 2)
        #expect(try scene.sql("SELECT count(*) FROM pragma_table_info('chunks') WHERE name = 'first_receipt'") == 0)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: scene.directory).allSatisfy { !$0.contains("damaged") })
    }

    @Test("Q8: a version that never was is put aside, not guessed at")
    func unknown() throws {
        try makeOlder()
        try scene.sql("PRAGMA user_version = 1")
        let state = try scene.open()
        #expect(state.warnings.count == 1)
        #expect(try scene.numbers() == [])
    }
}
