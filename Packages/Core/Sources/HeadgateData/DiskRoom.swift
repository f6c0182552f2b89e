/// The room on a file system, and a judgement of it that the daemon and its tools share.
public struct DiskRoom: Equatable, Sendable {
    public enum Level: Sendable {
        /// There is enough room.
        case enough
        /// Less than a twentieth is free.
        case low
        /// So little is free that the next burst of events, or no further file at all, fits.
        case nearlyFull
    }

    /// The bytes that a program without privileges may still write.
    public var freeBytes: Int
    /// The size of the file system in bytes.
    public var totalBytes: Int
    /// The number of files that may still be made.
    public var freeFiles: Int

    public init(freeBytes: Int, totalBytes: Int, freeFiles: Int) {
        (self.freeBytes, self.totalBytes, self.freeFiles) = (freeBytes, totalBytes, freeFiles)
    }

    /// The bytes below which a large file system counts as nearly full. Of a small one it is a tenth.
    private static let least = 256 << 20

    public var level: Level {
        if freeFiles == 0 || freeBytes < min(DiskRoom.least, totalBytes / 10) { return .nearlyFull }
        return freeBytes < totalBytes / 20 ? .low : .enough
    }
}
