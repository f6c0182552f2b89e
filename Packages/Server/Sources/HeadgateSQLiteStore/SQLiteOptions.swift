import HeadgateCore

/// The options of an ``SQLiteEventStore``.
public struct SQLiteOptions: Sendable {
    /// The path of the database. Its directory must exist.
    public var path: String
    /// True if each commit is synced (Behaviour Q5: `durability: full`).
    public var isSynced: Bool
    /// The most ids of clients that a start returns, the newest ones (Behaviour Q7).
    public var mostRecentIDs = StoreLimits().dedupeIDs
    /// The most pages of the database; nil for no limit.
    var mostPages: Int?
    /// SQLite's name of the file system; nil selects the machine's own.
    var fileSystem: String?
    /// Overwrites a file with its own content, and syncs it and its name. Returns an `errno`, or 0.
    var rewriteLog: @Sendable (String) -> Int32 = SQLiteLog.rewriteFile
    /// The wall clock in milliseconds, for the names of damaged files. The store's thread calls it.
    public var wall: @Sendable () -> Int64 = { 0 }

    public init(path: String, isSynced: Bool = true) {
        (self.path, self.isSynced) = (path, isSynced)
    }
}
