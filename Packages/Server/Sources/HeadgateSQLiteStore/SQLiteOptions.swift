import HeadgateCore

/// The options of an ``SQLiteEventStore``.
public struct SQLiteOptions: Sendable {
    /// The database's file. Its directory has to be there.
    public var path: String
    /// True if each commit is synced (Behaviour Q5: `durability: full`).
    public var isSynced: Bool
    /// The number of clients' ids that a start gives back, the newest (Behaviour Q7).
    public var mostRecentIDs = StoreLimits().dedupeIDs
    /// The most pages that the database may have; nil if the disk alone bounds it.
    var mostPages: Int?
    /// SQLite's name of the file system; nil is the machine's own.
    var fileSystem: String?
    /// Writes a file over itself, and syncs it and its name; returns an `errno`, or 0.
    var rewriteLog: @Sendable (String) -> Int32 = SQLiteLog.rewriteFile
    /// The wall clock, for names of files that are set aside; called on the store's thread.
    public var wall: @Sendable () -> Int64 = { 0 }

    public init(path: String, isSynced: Bool = true) {
        (self.path, self.isSynced) = (path, isSynced)
    }
}
