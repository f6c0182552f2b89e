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

    /// A file that is written bit by bit, so that no commit waits for much of it.
    struct Filing {
        fileprivate let filed: Filed
        private let handle: any DiskFile
        private let content: [UInt8]
        private var written = 0

        fileprivate init(filed: Filed, handle: any DiskFile, content: [UInt8]) {
            (self.filed, self.handle, self.content) = (filed, handle, content)
        }

        var file: LogFile { filed.file }

        var isWritten: Bool { written == file.size }

        /// Writes so many bytes more, its header at once.
        mutating func step(_ bytes: Int) throws(DiskFault) {
            let piece = written..<min(written + max(bytes, LogHeader.size), file.size)
            try content.lend { (content) throws(DiskFault) in
                try handle.write(UnsafeRawBufferPointer(rebasing: content[piece]), at: piece.lowerBound)
            }
            handle.writeOut(piece)
            written = piece.upperBound
        }

        /// Writes the rest, and sees to it that all is on the disk.
        mutating func end() throws(DiskFault) {
            try step(file.size - written)
            try handle.sync()
            handle.leaveCache()
        }
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

    /// Files were taken away: the ids in them are remembered until the next start only.
    mutating func lose(_ isGone: (LogFile) -> Bool) {
        files.removeAll { isGone($0.file) }
    }

    /// Takes out the files that hold nothing that is remembered.
    mutating func takeForgottenFiles() -> [Filed] {
        let gone = files.prefix { $0.last <= forgottenThrough }
        files.removeFirst(gone.count)
        return Array(gone)
    }

    /// Begins a file for those that are in none yet. It stands for them from ``filed(_:)`` on, and nobody knows it before a snapshot says
    /// so, for which its name has to be there to stay (``LogFiles/syncNames()``).
    /// - Returns: nil where there are none.
    func beginFile(
        in files: LogFiles, under header: LogHeader, packedFrom leastPacked: Int
    ) throws(DiskFault) -> Filing? {
        guard let last = recent.last else { return nil }
        let content = fileContent(under: header, packedFrom: leastPacked)
        let file = LogFile(number: try files.makeEmpty(), size: content.count)
        let filed = Filed(file: file, segment: header.number, last: last.lastSequenceNumber)
        do throws(DiskFault) {
            return Filing(filed: filed, handle: try files.open(file.number), content: content)
        } catch {
            files.free(LogFile(number: file.number, size: 0))
            throw error
        }
    }

    /// A file that is on the disk stands for those that are in it.
    mutating func filed(_ filing: Filing) {
        files.append(filing.filed)
        let gone = recent.prefix { $0.lastSequenceNumber <= filing.filed.last }
        recentBytes -= gone.reduce(0) { $0 + $1.weight }
        recent.removeFirst(gone.count)
    }

    private func fileContent(under header: LogHeader, packedFrom leastPacked: Int) -> [UInt8] {
        var writer = LogWriter()
        writer.putRest(header.bytes)
        let place = LogPlace(segment: header.number, offset: LogHeader.size)
        _ = writer.frame(.ids, at: place, certain: 0, previous: header.checksum) {
            writeRecent(packedFrom: leastPacked, to: &$0)
        }
        return writer.bytes
    }
}

extension LogIDs {
    /// What a file of those ids holds that are in none yet.
    func writeRecent(packedFrom leastPacked: Int, to writer: inout LogWriter) {
        var ids = LogWriter()
        ids.put(all: recent) { $0.put($1) }
        writer.put(ids.bytes, packedFrom: leastPacked)
    }

    /// The ids that a file holds.
    static func read(_ bytes: UnsafeRawBufferPointer) throws(LogReader.Unsound) -> [RecentIDs] {
        var reader = LogReader(bytes)
        return try reader.takePackedPiece().read { (reader) throws(LogReader.Unsound) in
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
