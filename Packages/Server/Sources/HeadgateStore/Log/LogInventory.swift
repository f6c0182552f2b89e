import HeadgateCore

/// A file that says what it is a segment of.
struct LogSource {
    var file: LogFile
    var header: LogHeader
}

/// What a segment says.
struct LogReading {
    var source: LogSource
    var bytes: [UInt8]
    var survey: LogSurvey

    func content(_ frame: LogFrame, _ offset: Int) -> ArraySlice<UInt8> {
        let begin = offset - LogHeader.size + LogFrame.headerSize
        return bytes[begin..<begin + frame.length]
    }

    /// How many events lay in a hole, as far as those before it and behind it tell; nil where nothing lies behind.
    func events(in hole: Range<Int>) -> Int? {
        let stretches = survey.frames.lazy.compactMap { found in
            content(found.frame, found.offset).withUnsafeBytes { try? LogGroup.Pieces($0, found.frame.kind)?.stretch }
                .map { (offset: found.offset, stretch: $0) }
        }
        guard let next = stretches.first(where: { $0.offset >= hole.upperBound }) else { return nil }
        let before = stretches.last { $0.offset < hole.lowerBound }?.stretch.last ?? snapshot?.lastSequenceNumber
        return before.map { Int(max(0, next.stretch.first - $0 - 1)) }
    }

    /// Bytes that are damaged behind its last events. They may have been events, of which nobody knows the numbers.
    var bytesLostAtEnd: Int {
        let last = survey.frames.last { $0.frame.kind == .group }?.offset ?? 0
        return survey.damaged.reduce(0) { $1.lowerBound > last ? $0 + $1.count : $0 }
    }

    /// The bytes of a piece.
    func bytes(_ range: Range<Int>) -> ArraySlice<UInt8> {
        bytes[(range.lowerBound - LogHeader.size)..<min(range.upperBound - LogHeader.size, bytes.count)]
    }

    /// The state that it begins with.
    var snapshot: LogState? {
        guard let first = survey.frames.first, first.offset == LogHeader.size, first.frame.kind == .snapshot
        else { return nil }
        return content(first.frame, first.offset).withUnsafeBytes { bytes in
            var reader = LogReader(bytes)
            return try? reader.takeState()
        }
    }
}

/// What files a log has, as each of them says by itself, and in what order they are to be read.
struct LogInventory {
    typealias Fault = LogRecovery.Fault

    let files: LogFiles
    /// All files.
    let all: [LogFile]
    /// Those that say that they are segments of the front.
    private(set) var sources: [LogSource] = []
    /// The highest number that a file says.
    private(set) var newest: UInt64 = 0
    /// Files that nobody has used yet, or not to the end.
    private(set) var blank: [LogFile] = []
    /// Files that were written to, and say nothing any more of what they are.
    private(set) var unreadable: [LogFile] = []

    init(_ files: LogFiles) throws(Fault) {
        self.files = files
        all = try Fault.of { () throws(DiskFault) in try files.list() }
        for file in all { try take(file) }
    }

    private mutating func take(_ file: LogFile) throws(Fault) {
        let bytes = try Fault.of { () throws(DiskFault) in try files.open(file.number).read(0..<LogHeader.size) }
        switch bytes.withUnsafeBytes(LogHeader.read) {
        case .none:
            // A header is written last, and at once: where there is something else there was one.
            if bytes.contains(where: { $0 != 0 }) { unreadable.append(file) } else { blank.append(file) }
        case .foreign(let version):
            throw .foreign(
                "\(files.path(file.number)) was written by another version of headgated (format \(version), "
                    + "this one knows \(LogFormat.version)); it was left as it is")
        case .header(let header):
            newest = max(newest, header.number)
            if header.use == .front { sources.append(LogSource(file: file, header: header)) }
        }
    }

    /// Whether there was nothing yet.
    var isEmpty: Bool { sources.isEmpty && unreadable.isEmpty }

    /// The newest segment that begins with a state, and those behind it whose own is damaged; nil where there is none.
    /// - Parameter written: what the daemon knows that wrote it; nil where it is another's.
    func chain(_ written: LogRecovery.Written?) throws(Fault) -> [LogReading]? {
        var chain: [LogReading] = []
        for source in sources.sorted(by: { $0.header.number > $1.header.number }) {
            if let written, source.header.number > written.end.segment { continue }
            let end = chain.first.map(\.source.header.previousEnd) ?? written?.end.offset ?? .max
            if let next = chain.first, next.source.header.previous != source.header.number { continue }
            let reading = try read(source, through: end, known: chain.isEmpty ? written?.certain ?? 0 : end)
            if reading.snapshot != nil { return [reading] + chain }
            // One that was begun when the power went says nothing. One that had been on the disk does.
            if reading.survey.certain > LogHeader.size { chain.insert(reading, at: 0) }
        }
        return nil
    }

    /// - Parameters:
    ///   - end: where it ends at the latest.
    ///   - known: so much of it was on the disk beyond doubt, whatever it says itself.
    func read(_ source: LogSource, through end: Int, known: Int) throws(Fault) -> LogReading {
        let bytes = try Fault.of { () throws(DiskFault) in
            try files.open(source.file.number).read(LogHeader.size..<max(source.file.size, LogHeader.size))
        }
        let survey = bytes.withUnsafeBytes { bytes in
            let start = LogPlace(segment: source.header.number, offset: LogHeader.size)
            return LogSurvey(
                LogScan(bytes, from: start, behind: source.header.checksum), from: LogHeader.size, through: end,
                known: known)
        }
        return LogReading(source: source, bytes: bytes, survey: survey)
    }

    /// The file of a segment that is written no more; nil where it is not there, or another's by now.
    func source(_ entry: LogSegmentEntry) throws(Fault) -> LogSource? {
        guard files.isThere(entry.file.number) else { return nil }
        // What cannot be read now may be read later: it is not given up for that.
        let bytes = try Fault.of { () throws(DiskFault) in
            try files.open(entry.file.number).read(0..<LogHeader.size)
        }
        switch bytes.withUnsafeBytes(LogHeader.read) {
        case .header(let found) where found.number == entry.number: return LogSource(file: entry.file, header: found)
        case .none where unreadable.contains(entry.file):
            // Each frame says by itself whose it is.
            let header = LogHeader(use: .copy, number: entry.number, previous: 0, previousEnd: 0)
            return LogSource(file: entry.file, header: header)
        case .header, .foreign, .none: return nil
        }
    }
}
