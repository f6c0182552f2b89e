/// The size and the modification time of a file at one moment, from which a truncation can be seen. A pure value.
struct FileMetadata: Equatable {
    /// The file's length in bytes.
    var size: Int
    /// The time of the last write, in nanoseconds since 1970.
    var modified: Int

    /// Returns true if the file did not only grow: it was truncated or rewritten, even with the same text.
    /// - Parameter trustsTimes: false if the time alone proves nothing, as on a network file system.
    func isRewritten(since earlier: FileMetadata, trustsTimes: Bool = true) -> Bool {
        guard size == earlier.size else { return size < earlier.size }
        return trustsTimes && size > 0 && modified > earlier.modified
    }
}

/// Decides when a renamed file is complete: when it has not grown for a while, or when its successor under the old name
/// was written to for a while and the renamed file was not. Its writer may keep it open after the rotation. A pure
/// value.
struct RenamedFile {
    private var quiet: (since: Int64, size: Int)?

    /// The time without growth after which the file is complete, in nanoseconds.
    static let quietTime: Int64 = 2_000_000_000

    /// Returns true if the file is complete.
    /// - Parameters:
    ///   - shape: the file's present length and its last write.
    ///   - successor: the last write of the file that now has its name, or nil if it is not known.
    ///   - now: the present time of the monotonic clock, in nanoseconds.
    mutating func isOver(_ shape: FileMetadata, successor: Int? = nil, at now: Int64) -> Bool {
        if let successor, successor - shape.modified >= Int(RenamedFile.quietTime) { return true }
        guard let quiet, quiet.size == shape.size else {
            quiet = (now, shape.size)
            return false
        }
        return now - quiet.since >= RenamedFile.quietTime
    }
}

/// Decides whether a file has another format: none of its first lines is an event. A pure value.
struct FileFormat: Equatable {
    /// The number of lines from the start of the file that are no events. Nil once a line was an event.
    private(set) var linesWithoutEvent: Int?

    /// The number of lines without an event after which the file has another format.
    static let mostForeignLines = 100

    init(linesWithoutEvent: Int? = 0) {
        self.linesWithoutEvent = linesWithoutEvent
    }

    /// True if the file has another format.
    var isForeign: Bool { (linesWithoutEvent ?? 0) >= FileFormat.mostForeignLines }

    /// True until a line was an event, or the file has another format.
    var isOpen: Bool { linesWithoutEvent != nil && !isForeign }

    /// Notes the next line of the file.
    mutating func note(isEvent: Bool) {
        linesWithoutEvent = isEvent ? nil : linesWithoutEvent.map { $0 + 1 }
    }
}
