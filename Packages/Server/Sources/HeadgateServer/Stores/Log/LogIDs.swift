import HeadgateCore

/// The ids of clients that a log remembers (Behaviour Q7): those of the newest groups, and files with those of older ones. They
/// live longer than most events, so that a segment need not be kept for their sake.
struct LogIDs {
    /// A file of ids.
    struct Filed: Equatable {
        var file: LogFile
        /// Its number among the segments.
        var segment: UInt64
        /// The last event whose id is in it.
        var last: SequenceNumber
    }

    /// Those that are in no file of their own yet, the oldest first.
    private(set) var recent: [RecentIDs] = []
    private(set) var recentBytes = 0
    /// The oldest first.
    private(set) var files: [Filed] = []
    /// Ids of events up to and including this one are forgotten.
    private(set) var forgottenThrough: SequenceNumber = 0

    init(recent: [RecentIDs] = [], files: [Filed] = [], forgottenThrough: SequenceNumber = 0) {
        (self.recent, self.files, self.forgottenThrough) = (recent, files, forgottenThrough)
        recentBytes = recent.reduce(0) { $0 + $1.weight }
    }

    mutating func add(_ ids: RecentIDs) {
        recent.append(ids)
        recentBytes += ids.weight
    }

    mutating func forget(through last: SequenceNumber) {
        guard last > forgottenThrough else { return }
        forgottenThrough = last
        let gone = recent.prefix { $0.lastSequenceNumber <= last }
        recentBytes -= gone.reduce(0) { $0 + $1.weight }
        recent.removeFirst(gone.count)
    }

    /// Takes out the files that hold nothing that is remembered.
    mutating func takeForgottenFiles() -> [Filed] {
        let gone = files.prefix { $0.last <= forgottenThrough }
        files.removeFirst(gone.count)
        return Array(gone)
    }

    /// The recent ids are in a file now.
    mutating func filed(_ file: Filed) {
        files.append(file)
        (recent, recentBytes) = ([], 0)
    }
}

extension LogIDs {
    /// What a file of those ids holds that are in none yet.
    func writeRecent(as kind: LogFrame.Kind, packedFrom leastPacked: Int, to writer: inout LogWriter) {
        guard kind == .packedIDs else { return writer.put(all: recent) { $0.put($1) } }
        var ids = LogWriter()
        ids.put(all: recent) { $0.put($1) }
        writer.put(ids.bytes, packedFrom: leastPacked)
    }

    /// The ids that a file holds.
    static func read(_ bytes: UnsafeRawBufferPointer, _ kind: LogFrame.Kind) throws(LogReader.Unsound) -> [RecentIDs] {
        var reader = LogReader(bytes)
        let piece = kind == .packedIDs ? try reader.takePackedPiece() : LogPiece(reader.takeRest())
        return try piece.read { (reader) throws(LogReader.Unsound) in
            try reader.takeAll { (reader) throws(LogReader.Unsound) in try reader.takeIDs() }
        }
    }
}

extension RecentIDs {
    /// Bytes that it takes, about.
    fileprivate var weight: Int { bytes.count + 32 }
}

extension LogWriter {
    mutating func put(_ ids: LogIDs) {
        put(all: ids.recent) { $0.put($1) }
        put(all: ids.files) { writer, file in
            writer.put(file.file)
            writer.put(file.segment)
            writer.put(file.last)
        }
        put(ids.forgottenThrough)
    }
}

extension LogReader {
    mutating func takeLogIDs() throws(Unsound) -> LogIDs {
        let recent = try takeAll { (reader) throws(Unsound) in try reader.takeIDs() }
        let files = try takeAll { (reader) throws(Unsound) in
            LogIDs.Filed(
                file: try reader.takeFile(), segment: try reader.take(), last: try reader.takeSequenceNumber())
        }
        return LogIDs(recent: recent, files: files, forgottenThrough: try takeSequenceNumber())
    }
}
