import HeadgateData

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
        let advice = "give the data directory a disk of its own, or free some room"
        if disk.isReadOnly { return .wrong("disk", "\(disk.directory) is read-only", "see dmesg, and mount it again") }
        if disk.room.level == .nearlyFull {
            return .wrong("disk", disk.freeFiles == 0 ? "no more files can be made at \(disk.directory)" : room, advice)
        }
        switch disk.kind {
        case MachineFacts.temporaryFileSystem:
            return .wrong(
                "disk", "\(disk.directory) is in memory: what is stored is gone after a restart of the machine",
                "have data_dir on a disk")
        case MachineFacts.networkFileSystem:
            return .doubtful(
                "disk", "\(disk.directory) is on a network: syncs are slow there, and locks may not hold",
                "have data_dir on a local disk")
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
            "LimitNOFILE= of its unit, ulimit -n, or a smaller limits.max_connections")
    }

    private var clockFinding: Finding? {
        if let year, year < 2_025 {
            return .wrong("clock", "it is \(year) here", "set the clock: timedatectl set-ntp true")
        }
        guard let isClockKept else { return nil }
        return isClockKept
            ? .fine("clock", "it is kept right")
            : .doubtful(
                "clock", "nothing keeps it right", "timedatectl set-ntp true, where a machine has no other source")
    }

    private var memoryFinding: Finding? {
        guard let freeMemory else { return nil }
        let words = "\(Quantity.bytes(freeMemory)) free"
        return freeMemory < MachineFacts.leastMemory
            ? .wrong("memory", words, "the kernel may end the daemon at any time: see what takes it")
            : .fine("memory", words)
    }
}
