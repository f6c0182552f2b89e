import Glibc
import HeadgateCore

@testable import HeadgateServer
@testable import HeadgateStore

/// The store of another version of the daemon (Behaviour Q11): an older one, which is migrated, or a newer one, which
/// is refused and left unchanged.
struct OtherVersions {
    static let path = "/data/events.db"
    private let platter: Platter
    private let record: Record

    init(_ platter: Platter, _ record: Record) {
        (self.platter, self.record) = (platter, record)
    }

    /// True if there is a database in use, not one that is being moved.
    private var isThere: Bool {
        guard !platter.names.keys.contains(where: { $0.contains("-to-") }) else { return false }
        return platter.names[OtherVersions.path].map { !$0.bytes.isEmpty } ?? false
    }

    /// Converts the database to that of an older version, which stored ids in a form that this version does not know.
    /// - Returns: True if it was converted.
    func becomeOlder() -> Bool {
        guard isThere else { return false }
        let version = record.number(2...3)
        // The other tables of version 2 are the same as in version 3.
        return execute(version == 2 ? OtherVersions.third + OtherVersions.second : OtherVersions.third)
    }

    /// Marks the database as written by a newer version, and restores it.
    /// - Parameter start: Tries to start a daemon meanwhile. Returns the error, or nil if it started.
    func whileNewer(_ start: () -> String?) {
        guard isThere, execute("PRAGMA user_version = \(StoreSchema.version + 1)") else { return }
        record.count(.newerRefused)
        let before = platter.names[OtherVersions.path]?.bytes
        record.expect(start()?.contains("newer") == true, "a store of a newer version is not refused as such")
        let after = platter.names[OtherVersions.path]?.bytes
        record.expect(before == after, "a store of a newer version is changed")
        let isBack = execute("PRAGMA user_version = \(StoreSchema.version)", from: StoreSchema.version + 1)
        record.expect(isBack, "it is not made this one again")
    }

    private func execute(_ statements: String, from version: UInt32 = StoreSchema.version) -> Bool {
        let disk = SimulatedDisk(platter, record)
        defer { disk.end() }
        do throws(SQLiteError) {
            let connection = try SQLiteConnection(path: OtherVersions.path, on: disk)
            guard try connection.integer("PRAGMA user_version") == Int64(version) else { return false }
            try connection.transaction { () throws(SQLiteError) in try connection.execute(statements) }
            try connection.emptyLog()
            return true
        } catch {
            record.note("another version cannot use the disk: \(error)")
            return false
        }
    }

    /// The table `recent_ids` of version 3, with plain ids that this version cannot compare.
    private static let third = """
        UPDATE recent_ids SET ids = x'', count = 0;
        ALTER TABLE recent_ids DROP COLUMN form;
        PRAGMA user_version = 3;
        """

    /// The table `chunks` of version 2, without the expiry of events.
    private static let second = """
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
        PRAGMA user_version = 2;
        """
}
