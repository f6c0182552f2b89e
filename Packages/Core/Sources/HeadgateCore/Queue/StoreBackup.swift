/// A copy of a store for a backup. It is made piece by piece while the store is used.
///
/// It is called on the scheduler. The copy holds nothing of the store: a backup that is abandoned costs nothing.
public protocol StoreBackup: AnyObject {
    /// Returns the next piece of the copy. The pieces of a file come in order, and one file after the other. `then` is
    /// called on the scheduler after the function has returned. After a failure the copy cannot be continued.
    func next(then: @escaping (Result<BackupPiece, StoreFault>) -> Void)
}

/// A piece of a backup: some bytes of a file below the data directory.
public struct BackupPiece: Sendable, Equatable {
    /// The file's path from the data directory on, like `log/000001.log`.
    public var file: String
    /// The offset of the bytes in the file.
    public var offset: Int
    /// The bytes. There may be none, if the search for events to copy took long.
    public var bytes: [UInt8]
    /// True for the last piece of the backup.
    public var isLast: Bool

    public init(file: String, offset: Int, bytes: [UInt8], isLast: Bool = false) {
        (self.file, self.offset, self.bytes, self.isLast) = (file, offset, bytes, isLast)
    }
}
