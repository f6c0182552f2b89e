import HeadgateCore

/// The ids of clients that a log remembers (Behaviour Q7): those of the newest groups, and files with the older ones.
/// Ids live longer than most events, so that no segment is kept for their sake.
struct LogIDs {
    /// A file of ids.
    struct Filed: Equatable {
        var file: LogFile
        /// The file's segment number.
        var segment: UInt64
        /// The last event whose id is in the file.
        var last: SequenceNumber
    }

    /// A file that is written step by step, so that no commit waits for much of it.
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

        /// Writes more bytes, the header at once.
        mutating func step(_ bytes: Int) throws(DiskFault) {
            let piece = written..<min(written + max(bytes, LogHeader.size), file.size)
            try content.lend { (content) throws(DiskFault) in
                try handle.write(UnsafeRawBufferPointer(rebasing: content[piece]), at: piece.lowerBound)
            }
            handle.writeOut(piece)
            written = piece.upperBound
        }

        /// Writes the rest, and syncs the file.
        mutating func end() throws(DiskFault) {
            try step(file.size - written)
            try handle.sync()
            handle.leaveCache()
        }
    }

    /// The ids that are in no file yet, the oldest first.
    private(set) var recent: [RecentIDs] = []
    private(set) var recentBytes = 0
    /// The files of ids, the oldest first.
    private(set) var files: [Filed] = []
    /// The event up to which ids are forgotten.
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

    /// Drops files that were taken away. Their ids are remembered until the next start only.
    mutating func lose(_ isGone: (LogFile) -> Bool) {
        files.removeAll { isGone($0.file) }
    }

    /// Takes out the files whose ids are all forgotten.
    mutating func takeForgottenFiles() -> [Filed] {
        let gone = files.prefix { $0.last <= forgottenThrough }
        files.removeFirst(gone.count)
        return Array(gone)
    }

    /// Begins a file for the ids that are in none yet. The file replaces them after ``filed(_:)``. A start does not
    /// know the file until a snapshot names it, and before that the file's name must be synced
    /// (``LogFiles/syncNames()``).
    /// - Returns: nil if there are no such ids.
    func beginFile(
        in files: LogFiles, under header: LogHeader, packedFrom leastPacked: Int
    ) throws(DiskFault) -> Filing? {
        guard let last = recent.last else { return nil }
        let content = fileContent(under: header, files.cipher(of: header), packedFrom: leastPacked)
        let file = LogFile(number: try files.makeEmpty(), size: content.count)
        let filed = Filed(file: file, segment: header.number, last: last.lastSequenceNumber)
        do throws(DiskFault) {
            return Filing(filed: filed, handle: try files.open(file.number), content: content)
        } catch {
            files.free(LogFile(number: file.number, size: 0))
            throw error
        }
    }

    /// Writes the ids of a file into a new one, with its header. The new file is on the disk, and its name is not.
    /// - Parameter content: the content of the frame.
    static func copy(
        _ filed: Filed, _ content: [UInt8], under header: LogHeader, in files: LogFiles
    ) throws(DiskFault) -> Filed {
        var draft = SegmentDraft(header, sealedBy: files.cipher(of: header))
        let bytes = header.bytes + draft.encode(.ids) { $0.putRest(content) }.bytes
        let file = LogFile(number: try files.makeEmpty(), size: bytes.count)
        do throws(DiskFault) {
            let handle = try files.open(file.number)
            try bytes.lend { (bytes) throws(DiskFault) in try handle.append(bytes, at: 0) }
            handle.leaveCache()
        } catch {
            files.free(LogFile(number: file.number, size: 0))
            throw error
        }
        files.note(file)
        return Filed(file: file, segment: header.number, last: filed.last)
    }

    /// Replaces a file by another one with the same ids; nil drops it.
    mutating func replace(_ old: Filed, by new: Filed?) {
        guard let index = files.firstIndex(of: old) else { return }
        if let new { files[index] = new } else { files.remove(at: index) }
    }

    /// Replaces ids by the file that has them, which is on the disk.
    mutating func filed(_ filing: Filing) {
        files.append(filing.filed)
        let gone = recent.prefix { $0.lastSequenceNumber <= filing.filed.last }
        recentBytes -= gone.reduce(0) { $0 + $1.weight }
        recent.removeFirst(gone.count)
    }

    private func fileContent(
        under header: LogHeader, _ cipher: FrameCipher?, packedFrom leastPacked: Int
    ) -> [UInt8] {
        var draft = SegmentDraft(header, sealedBy: cipher)
        return header.bytes + draft.encode(.ids) { writeRecent(packedFrom: leastPacked, to: &$0) }.bytes
    }
}

extension LogIDs {
    /// Writes the content of a file of the ids that are in none yet.
    func writeRecent(packedFrom leastPacked: Int, to writer: inout LogWriter) {
        var ids = LogWriter()
        ids.put(all: recent) { $0.put($1) }
        writer.put(ids.bytes, packedFrom: leastPacked)
    }

    /// Reads the ids of a file.
    static func read(_ bytes: UnsafeRawBufferPointer) throws(LogReader.Unsound) -> [RecentIDs] {
        var reader = LogReader(bytes)
        return try reader.takePackedPiece().read { (reader) throws(LogReader.Unsound) in
            try reader.takeAll { (reader) throws(LogReader.Unsound) in try reader.takeIDs() }
        }
    }
}

extension RecentIDs {
    /// The approximate bytes that the ids take.
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
