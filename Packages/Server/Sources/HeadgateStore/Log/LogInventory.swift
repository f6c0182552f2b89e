import HeadgateCore
import HeadgateEncryption

/// A file with a sound segment header.
struct LogSource {
    var file: LogFile
    var header: LogHeader
}

/// The frames of a segment.
struct LogReading {
    var source: LogSource
    var bytes: [UInt8]
    var report: SegmentReport
    /// Decrypts the frames.
    let opener: FrameOpener

    /// Returns the content of a sound frame.
    func content(_ frame: LogFrame, _ offset: Int) -> [UInt8] {
        let begin = offset - LogHeader.size + LogFrame.headerSize
        let position = LogPosition(segment: source.header.number, offset: offset)
        return bytes.withRawBytes { bytes in
            let stored = UnsafeRawBufferPointer(rebasing: bytes[begin..<begin + frame.length])
            return opener.content(of: frame, stored, at: position).map { Array($0) } ?? []
        }
    }

    /// Returns the numbers of the events in a hole, according to the events before and after it, as many as the hole has
    /// room for; nil if there are no events after it.
    func numbers(in hole: Range<Int>) -> Range<SequenceNumber>? {
        let spans = report.frames.lazy.compactMap { found in
            content(found.frame, found.offset).withUnsafeBytes { try? LogGroup.Pieces($0, found.frame.kind)?.span }
                .map { (offset: found.offset, span: $0) }
        }
        guard let next = spans.first(where: { $0.offset >= hole.upperBound }) else { return nil }
        let before = spans.last { $0.offset < hole.lowerBound }?.span.last ?? snapshot?.lastSequenceNumber
        return before.map { before in
            let most = SequenceNumber(hole.count / LogFormat.leastRecord)
            return before + 1..<max(before + 1, min(next.span.first, before + 1 + most))
        }
    }

    /// The damaged bytes after the last events. They may have been events, whose numbers are unknown.
    var bytesLostAtEnd: Int {
        let last = report.frames.last { $0.frame.kind == .group }?.offset ?? 0
        return report.damaged.reduce(0) { $1.lowerBound > last ? $0 + $1.count : $0 }
    }

    /// Returns the bytes of a range.
    func bytes(_ range: Range<Int>) -> ArraySlice<UInt8> {
        bytes[(range.lowerBound - LogHeader.size)..<min(range.upperBound - LogHeader.size, bytes.count)]
    }

    /// The state with which the segment begins; nil if its snapshot is damaged.
    var snapshot: LogState? {
        guard let first = report.frames.first, first.offset == LogHeader.size, first.frame.kind == .snapshot
        else { return nil }
        return try? content(first.frame, first.offset).withRawBytes { (bytes) throws(LogReader.Unsound) -> LogState in
            try LogReader.value(in: bytes)
        }
    }
}

/// Facts that a process knows about the log that it has written, for a recovery while it runs.
struct WrittenLog {
    /// The end of the log: nothing after it counts.
    var end: LogPosition
    /// The bytes of that segment that are certainly on the disk.
    var certain: Int
    /// The highest sequence number that was assigned.
    var given: SequenceNumber
}

/// The files of a log, according to their headers, and the order in which they are read.
struct LogInventory {
    typealias Fault = RecoveryFault

    let files: LogFiles
    /// All files.
    let all: [LogFile]
    /// The files that are segments in the order of writing.
    private(set) var sources: [LogSource] = []
    /// The highest segment number in a header.
    private(set) var newest: UInt64 = 0
    /// Files that were never used, or never finished.
    private(set) var blank: [LogFile] = []
    /// Files that were used, and whose header is damaged.
    private(set) var unreadable: [LogFile] = []
    /// The files whose key is missing. Some of them may be obsolete, and need no key.
    private var locked: [LogSource] = []

    init(_ files: LogFiles) throws(Fault) {
        self.files = files
        all = try Fault.of { () throws(DiskFault) in try files.list() }
        for file in all { try take(file) }
    }

    private mutating func take(_ file: LogFile) throws(Fault) {
        let bytes = try Fault.of { () throws(DiskFault) in try files.open(file.number).read(0..<LogHeader.size) }
        switch bytes.withUnsafeBytes(LogHeader.read) {
        case .none:
            // A header is written last, and at once. Other bytes mean that there was a header.
            if bytes.contains(where: { $0 != 0 }) { unreadable.append(file) } else { blank.append(file) }
        case .foreign(let version):
            throw .foreign(
                "\(files.path(file.number)) was written by another version of headgated (format \(version), "
                    + "this one knows \(LogFormat.version)); it was not changed")
        case .header(let header):
            newest = max(newest, header.number)
            if let seal = header.seal, files.keyring?.key(of: seal) == nil {
                locked.append(LogSource(file: file, header: header))
            }
            if header.use == .active { sources.append(LogSource(file: file, header: header)) }
        }
    }

    /// True if there is no log yet.
    var isEmpty: Bool { sources.isEmpty && unreadable.isEmpty }

    /// Returns the newest segment that begins with a sound snapshot, and the later ones without one; nil if there is
    /// none.
    /// - Parameter written: the facts that this process knows about the log that it has written; nil at a start.
    func chain(_ written: WrittenLog?) throws(Fault) -> [LogReading]? {
        var chain: [LogReading] = []
        for source in sources.sorted(by: { $0.header.number > $1.header.number }) {
            if let written, source.header.number > written.end.segment { continue }
            let end = chain.first.map(\.source.header.previousEnd) ?? written?.end.offset ?? .max
            if let next = chain.first, next.source.header.previous != source.header.number { continue }
            try requireKey(source)
            let reading = try read(source, through: end, known: chain.isEmpty ? written?.certain ?? 0 : end)
            if reading.snapshot != nil { return [reading] + chain }
            // A segment that was being begun when the power failed has no information. A segment that was on the disk
            // has.
            if reading.report.certain > LogHeader.size { chain.insert(reading, at: 0) }
        }
        // A file whose key is missing may have the snapshot that no other file has.
        if written == nil, let source = locked.first { try requireKey(source) }
        return nil
    }

    // MARK: Keys

    /// Throws a fault if the key of a needed file is missing.
    func requireKeys(of state: LogState) throws(Fault) {
        guard !locked.isEmpty else { return }
        let needed = state.segments.map(\.number) + state.ids.files.map(\.segment)
        for source in locked where needed.contains(source.header.number) { try requireKey(source) }
    }

    private func requireKey(_ source: LogSource) throws(Fault) {
        guard locked.contains(where: { $0.file == source.file }) else { return }
        throw locked(source)
    }

    private func locked(_ source: LogSource) -> Fault {
        .locked(Keyring.message(files.path(source.file.number), source.header.seal?.key ?? 0, files.keyring))
    }

    // MARK: Frames

    /// - Parameters:
    ///   - end: the offset at which the segment ends at the latest.
    ///   - known: the bytes that are certainly on the disk, whatever the frames say.
    func read(_ source: LogSource, through end: Int, known: Int) throws(Fault) -> LogReading {
        let bytes = try Fault.of { () throws(DiskFault) in
            try files.open(source.file.number).read(LogHeader.size..<max(source.file.size, LogHeader.size))
        }
        let opener = try opener(source)
        let report = bytes.withUnsafeBytes { bytes in
            let start = LogPosition(segment: source.header.number, offset: LogHeader.size)
            return SegmentReport(
                LogScan(bytes, from: start, behind: source.header.checksum, opener: opener), from: LogHeader.size,
                through: end, known: known)
        }
        return LogReading(source: source, bytes: bytes, report: report, opener: opener)
    }

    private func opener(_ source: LogSource) throws(Fault) -> FrameOpener {
        let header = unreadable.contains(source.file) ? nil : source.header
        let opener = FrameOpener(header, segment: source.header.number, files.keyring)
        guard let opener else { throw locked(source) }
        return opener
    }

    /// Returns the file of a sealed segment; nil if it does not exist, or another segment uses it now.
    func source(_ entry: LogSegmentEntry) throws(DiskFault) -> LogSource? {
        guard files.isThere(entry.file.number) else { return nil }
        // A read error may pass, so it is thrown, and the segment is not dropped.
        let bytes = try files.open(entry.file.number).read(0..<LogHeader.size)
        switch bytes.withUnsafeBytes(LogHeader.read) {
        case .header(let found) where found.number == entry.number: return LogSource(file: entry.file, header: found)
        case .none where unreadable.contains(entry.file):
            // Each frame proves by itself to which segment it belongs.
            let header = LogHeader(use: .copy, number: entry.number, previous: 0, previousEnd: 0)
            return LogSource(file: entry.file, header: header)
        case .header, .foreign, .none: return nil
        }
    }
}
