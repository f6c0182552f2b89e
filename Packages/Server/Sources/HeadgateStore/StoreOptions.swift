import Glibc
import HeadgateCore
import HeadgateData
import HeadgateEncryption

/// The options of a ``DiskEventStore``.
public struct StoreOptions: Sendable {
    /// The data directory. It is created with mode 0700 if it is missing.
    public var directory: String
    /// The failures that an acknowledged event survives (Behaviour Q5). This store takes `memory` as `normal`.
    public var durability: Durability
    /// The most ids of clients that a start returns, the newest ones. Older ids are forgotten step by step
    /// (Behaviour Q7).
    public var mostRecentIDs = StoreLimits().dedupeIDs
    /// The bytes of a segment, and of a block, which is read at once.
    var segmentSize = 8 << 20
    /// The bytes of the smallest useful segment, if there is no room for a whole one.
    var leastSegmentSize = 64 << 10
    var blockSize = 256 << 10
    /// The bytes of events that the scan of an erasure reads at once. Commits wait meanwhile.
    var searchSize: Int { blockSize / 4 }
    /// The size in bytes from which the records of a group are packed. Smaller groups fit into one block of the disk.
    var leastPacked = 4 << 10
    /// The size in bytes from which ids are written to a file of their own.
    var mostUnfiledIDBytes = 256 << 10
    /// The keys; nil if nothing is or was encrypted (Behaviour C1).
    public var keyring: Keyring?
    /// The file system.
    var disk: any Disk = SystemDisk()
    /// The wall clock, for people. It is read at a start.
    var wall: @Sendable () -> Timestamp = { Timestamp.ofSystem }
    /// The clock that measures the disk. The engine's owner reads it.
    var clock: @Sendable () -> ContinuousClock.Instant = { .now }

    public init(directory: String, durability: Durability = .full) {
        self.directory = directory
        self.durability = durability
    }

    var logDirectory: String { directory + "/log" }
}

extension Timestamp {
    /// The time of the system's wall clock.
    package static var ofSystem: Timestamp {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Timestamp(milliseconds: Int64(now.tv_sec) * 1_000 + Int64(now.tv_nsec) / 1_000_000)
    }
}
