/// The free space of a file system, and its level as the daemon and its tools report it.
public struct DiskRoom: Equatable, Sendable {
    public enum Level: Sendable {
        /// At least a twentieth is free.
        case enough
        /// Less than a twentieth is free.
        case low
        /// The next burst of events may not fit, or no further file can be created.
        case nearlyFull
    }

    /// The bytes that an unprivileged process may still write.
    public var freeBytes: Int
    /// The size of the file system in bytes.
    public var totalBytes: Int
    /// The number of files that can still be created.
    public var freeFiles: Int

    public init(freeBytes: Int, totalBytes: Int, freeFiles: Int) {
        (self.freeBytes, self.totalBytes, self.freeFiles) = (freeBytes, totalBytes, freeFiles)
    }

    /// The free bytes below which a large file system counts as nearly full. For a small file system the limit is a
    /// tenth of its size.
    private static let least = 256 << 20

    public var level: Level {
        if freeFiles == 0 || freeBytes < min(DiskRoom.least, totalBytes / 10) { return .nearlyFull }
        return freeBytes < totalBytes / 20 ? .low : .enough
    }
}
