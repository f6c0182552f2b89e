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

    /// Drops files that were removed. Their ids are remembered only until the next start.
    mutating func lose(_ isGone: (LogFile) -> Bool) {
        files.removeAll { isGone($0.file) }
    }

    /// Removes and returns the files whose ids are all forgotten.
    mutating func takeForgottenFiles() -> [Filed] {
        let gone = files.prefix { $0.last <= forgottenThrough }
        files.removeFirst(gone.count)
        return Array(gone)
    }

    /// Writes the ids that are in no file yet to a new file, and syncs it. A start does not know the file until a
    /// snapshot names it, and before that the file's name must be synced (``LogFiles/syncNames()``).
    mutating func fileRecent(
        under header: LogHeader, in logFiles: LogFiles, packedFrom leastPacked: Int
    ) throws(DiskFault) {
        guard let last = recent.last?.lastSequenceNumber else { return }
        var content = LogWriter()
        writeRecent(packedFrom: leastPacked, to: &content)
        files.append(try LogIDs.write(content.bytes, through: last, under: header, in: logFiles))
        (recent, recentBytes) = ([], 0)
    }

    /// Writes a file of ids. The file's content is synced afterwards, and its name is not.
    /// - Parameters:
    ///   - content: the content of its frame.
    ///   - last: the last event whose id is in the file.
    static func write(
        _ content: [UInt8], through last: SequenceNumber, under header: LogHeader, in files: LogFiles
    ) throws(DiskFault) -> Filed {
        var draft = SegmentDraft(header, sealedBy: files.cipher(of: header))
        let bytes = header.bytes + draft.encode(.ids) { $0.putRest(content) }.bytes
        let file = LogFile(number: try files.makeEmpty(), size: bytes.count)
        do throws(DiskFault) {
            let handle = try files.open(file.number)
            try handle.write(bytes, at: 0)
            try handle.sync()
            handle.leaveCache()
        } catch {
            files.free(LogFile(number: file.number, size: 0))
            throw error
        }
        files.note(file)
        return Filed(file: file, segment: header.number, last: last)
    }

    /// Replaces a file by another one with the same ids; nil drops it.
    mutating func replace(_ old: Filed, by new: Filed?) {
        guard let index = files.firstIndex(of: old) else { return }
        if let new { files[index] = new } else { files.remove(at: index) }
    }
}

extension LogIDs {
    /// Encodes the ids that are in no file yet as the content of a file.
    func writeRecent(packedFrom leastPacked: Int, to writer: inout LogWriter) {
        var ids = LogWriter()
        ids.put(recent)
        writer.put(ids.bytes, packedFrom: leastPacked)
    }

    /// Reads the ids of a file.
    static func read(_ bytes: UnsafeRawBufferPointer) throws(LogReader.Unsound) -> [RecentIDs] {
        var reader = LogReader(bytes)
        return try reader.takePackedPiece().read()
    }
}

extension RecentIDs {
    /// The approximate bytes that the ids take.
    fileprivate var weight: Int { bytes.count + 32 }
}

extension LogIDs: LogCodable {
    func write(to writer: inout LogWriter) {
        writer.put(recent)
        writer.put(files)
        writer.put(forgottenThrough)
    }

    init(from reader: inout LogReader) throws(LogReader.Unsound) {
        self.init(
            recent: try reader.take(), files: try reader.take(), forgottenThrough: try reader.takeSequenceNumber())
    }
}

extension LogIDs.Filed: LogCodable {
    func write(to writer: inout LogWriter) {
        writer.put(file)
        writer.put(segment)
        writer.put(last)
    }

    init(from reader: inout LogReader) throws(LogReader.Unsound) {
        (file, segment, last) = (try reader.take(), try reader.take(), try reader.takeSequenceNumber())
    }
}
