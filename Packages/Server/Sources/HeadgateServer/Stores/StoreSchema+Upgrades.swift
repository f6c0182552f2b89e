import HeadgateCore

extension StoreSchema {
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
