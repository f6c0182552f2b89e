/// The size and the time of a file at one moment: enough to see that it was emptied. Pure.
struct FileShape: Equatable {
    /// The file's length in bytes.
    var size: Int
    /// The time at which the file was written to last, in nanoseconds since 1970.
    var modified: Int

    /// Returns true if the file has changed in another way than by growing: it was emptied, or written anew, even if the same
    /// text stands in it now.
    /// - Parameter trustsTimes: false if the time alone proves nothing, as on a network's file system.
    func isRewritten(since earlier: FileShape, trustsTimes: Bool = true) -> Bool {
        guard size == earlier.size else { return size < earlier.size }
        return trustsTimes && size > 0 && modified > earlier.modified
    }
}

/// Finds out when a file that has lost its name is over: it has not grown for a while. Its writer may keep it open after a
/// rotation. Pure.
struct RenamedFile {
    private var quiet: (since: Int64, size: Int)?

    /// The time without growth after which the file is over, in nanoseconds.
    static let patience: Int64 = 2_000_000_000

    /// Returns true if the file is over.
    /// - Parameters:
    ///   - size: the file's length now.
    ///   - now: a moment of the monotonic clock, in nanoseconds.
    mutating func isOver(size: Int, at now: Int64) -> Bool {
        guard let quiet, quiet.size == size else {
            quiet = (now, size)
            return false
        }
        return now - quiet.since >= RenamedFile.patience
    }
}

/// Finds out whether a file holds something else than events: none of its first lines is one. Pure.
struct FileFormat: Equatable {
    /// The number of lines from the file's beginning, none of which is an event. Nil once one was.
    private(set) var strangers: Int?

    /// The number of lines after which the file is taken for one of another format.
    static let patience = 100

    init(strangers: Int? = 0) {
        self.strangers = strangers
    }

    /// True if the file has another format.
    var isForeign: Bool { (strangers ?? 0) >= FileFormat.patience }

    /// True until a line was an event, or the file is known to have another format.
    var isOpen: Bool { strangers != nil && !isForeign }

    /// Takes the next line of the file into account.
    mutating func note(isEvent: Bool) {
        strangers = isEvent ? nil : strangers.map { $0 + 1 }
    }
}
