import HeadgateData
import HeadgateText

/// Facts about the machine. A fact that could not be found is nil.
struct MachineFacts: Equatable, Sendable {
    /// The file system of the data directory.
    struct Disk: Equatable, Sendable {
        var directory: String
        var freeBytes: Int
        var totalBytes: Int
        var freeFiles: Int
        /// The kernel's number for the kind of file system.
        var kind: Int
        var isReadOnly: Bool

        var room: DiskRoom { DiskRoom(freeBytes: freeBytes, totalBytes: totalBytes, freeFiles: freeFiles) }
    }

    var disk: Disk?
    /// The most descriptors and the most connections of the daemon.
    var descriptors: Int?
    var connections: Int?
    /// True if a service keeps the wall clock right.
    var isClockKept: Bool?
    /// The year of the wall clock.
    var year: Int?
    /// The memory that programs could use, in bytes.
    var freeMemory: Int?
}

extension MachineFacts {
    private static let temporaryFileSystem = 0x0102_1994
    private static let networkFileSystem = 0x6969
    private static let leastMemory = 64 << 20
    /// The number of descriptors that a daemon needs besides those of its connections.
    private static let otherDescriptors = 64

    /// The findings about the machine.
    var findings: [Finding] { [diskFinding, descriptorFinding, clockFinding, memoryFinding].compactMap { $0 } }

    private var diskFinding: Finding? {
        guard let disk else { return nil }
        let room = "\(Quantity.bytes(disk.freeBytes)) of \(Quantity.bytes(disk.totalBytes)) free at \(disk.directory)"
        let advice = "give the data directory a disk of its own, or free space on it"
        if disk.isReadOnly {
            return .wrong("disk", "\(disk.directory) is read-only", "check dmesg, then remount it read-write")
        }
        if disk.room.level == .nearlyFull {
            return .wrong("disk", disk.freeFiles == 0 ? "\(disk.directory): no free inodes" : room, advice)
        }
        switch disk.kind {
        case MachineFacts.temporaryFileSystem:
            return .wrong(
                "disk", "\(disk.directory) is in memory: stored events are lost when the machine restarts",
                "move data_dir to a disk")
        case MachineFacts.networkFileSystem:
            return .doubtful(
                "disk", "\(disk.directory) is on a network: syncs are slow there, and locks may not hold",
                "move data_dir to a local disk")
        default: break
        }
        return disk.room.level == .low ? .doubtful("disk", room, advice) : .fine("disk", room)
    }

    private var descriptorFinding: Finding? {
        guard let descriptors, let connections else { return nil }
        guard descriptors < connections + MachineFacts.otherDescriptors else {
            return .fine(
                "limits",
                "\(Quantity.grouped(descriptors)) descriptors for \(Quantity.grouped(connections)) connections")
        }
        return .wrong(
            "limits", "\(descriptors) descriptors are too few for \(connections) connections",
            "raise LimitNOFILE= in the unit or ulimit -n, or lower limits.max_connections")
    }

    private var clockFinding: Finding? {
        if let year, year < 2_025 {
            return .wrong("clock", "the clock is wrong: the year is \(year)", "set the clock: timedatectl set-ntp true")
        }
        guard let isClockKept else { return nil }
        return isClockKept
            ? .fine("clock", "synchronized")
            : .doubtful(
                "clock", "not synchronized", "enable time synchronization: timedatectl set-ntp true")
    }

    private var memoryFinding: Finding? {
        guard let freeMemory else { return nil }
        let words = "\(Quantity.bytes(freeMemory)) free"
        return freeMemory < MachineFacts.leastMemory
            ? .wrong(
                "memory", words, "the kernel may kill the daemon at any time: check which processes use the memory")
            : .fine("memory", words)
    }
}
