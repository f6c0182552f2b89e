import HeadgateCore

/// A copy of a running log for a backup: what is needed of its events, its dead letters, its files of ids, and its state.
///
/// Events are copied in order, up to the newest, while the log is written. The state comes last, and is that of the moment
/// at which everything before it was copied. A start finds the files of a log that was closed in order.
final class LogBackup {
    /// The names of kept values that the copy leaves out.
    private let leftOut: Set<String>
    /// All events up to this one are copied, as far as they are needed.
    private var copiedThrough: SequenceNumber = 0
    private var lastLetter: LetterNumber = 0
    private var positions: [LetterNumber: LetterPosition] = [:]
    /// The copied files of ids, by the segment number of the original.
    private var filedIDs: [UInt64: LogIDs.Filed] = [:]
    private var segments: [LogSegmentEntry] = []
    /// The segment that is being written.
    private var target: BackupSegment?
    /// The number of files so far. A file and its segment have the same number.
    private var files: UInt32 = 0
    private var ready: [BackupPiece] = []
    private var isComplete = false
    /// The counts of the log at the beginning of the copy.
    private var origin: Origin?

    /// Events that have been left out may be needed after a rewind, and events that have been copied may be erased, or gone
    /// after a recovery.
    private struct Origin: Equatable {
        var rewinds: Int
        var erasures: Int
        var recoveries: Int
    }

    /// The bytes of a piece.
    private static let pieceSize = 128 << 10
    /// The most bytes that are read for one piece.
    private static let mostRead = 1 << 20
    /// The bytes after the state, so that the next start need not begin another segment at once.
    private static let room = 64 << 10

    /// - Parameter leftOut: the names of kept values that the copy leaves out.
    init(without leftOut: [String]) {
        self.leftOut = Set(leftOut)
    }

    /// Returns the next piece; nil if the copy cannot be continued, because the log was rewound, erased from or repaired meanwhile.
    func next(of log: SegmentLog) throws(DiskFault) -> BackupPiece? {
        try log.repair()
        let now = Origin(
            rewinds: log.counts.rewound, erasures: log.counts.erased, recoveries: log.counts.recovered)
        guard (origin ?? now) == now else { return nil }
        origin = now
        var read = 0
        while !isComplete, ready.count < 2, read < LogBackup.mostRead { read += try step(log) }
        guard !ready.isEmpty else { return BackupPiece(file: path(max(1, files)), offset: target?.end ?? 0, bytes: []) }
        var piece = ready.removeFirst()
        piece.isLast = isComplete && ready.isEmpty
        return piece
    }

    /// Copies something, or ends the copy.
    /// - Returns: the bytes that were read.
    private func step(_ log: SegmentLog) throws(DiskFault) -> Int {
        let needed = log.state.needed
        if let (segment, block) = nextBlock(log, needed) { return try copy(block, of: segment, needed, log) }
        if let filed = log.state.ids.files.first(where: { filedIDs[$0.segment] == nil }) { return try copy(filed, log) }
        if log.state.letters.entries.last.map({ $0.number > lastLetter }) ?? false { return try copyLetters(log) }
        finish(log.state)
        return 0
    }

    // MARK: Events

    /// Returns the first block with needed events that are not copied, and skips those before it.
    private func nextBlock(_ log: SegmentLog, _ needed: Needed) -> (LogSegment, LogBlock)? {
        for segment in log.segments where segment.index.events.last > copiedThrough {
            for block in segment.index.blocks[segment.index.firstBlock(behind: copiedThrough)...] {
                if needed.bytes(of: block.span) > 0 { return (segment, block) }
                copiedThrough = max(copiedThrough, block.span.last)
            }
        }
        return nil
    }

    private func copy(
        _ block: LogBlock, of segment: LogSegment, _ needed: Needed, _ log: SegmentLog
    ) throws(DiskFault) -> Int {
        var records: [UInt8] = []
        var (found, sound): (LogSpan?, RouteTallies) = (nil, RouteTallies())
        try segment.visitGroups(block) { group in
            guard let chunk = group.chunk else { return }
            sound += group.span.tallies
            for event in chunk where event.sequenceNumber > copiedThrough && needed.contains(event) {
                let own = LogSpan(event)
                if found == nil { found = own } else { found?.add(own) }
                records += event.record
            }
        }
        log.quarantine(block, sound, of: segment)
        copiedThrough = max(copiedThrough, block.span.last)
        guard let span = found else { return block.range.count }
        let leastPacked = log.options.leastPacked
        let range = put(.group) { LogGroup.write(records, span, packedFrom: leastPacked, to: &$0) }
        target?.index.add(span, at: range)
        endSegment(from: log.options.segmentSize)
        return block.range.count
    }

    // MARK: Dead letters and ids

    private func copyLetters(_ log: SegmentLog) throws(DiskFault) -> Int {
        var (numbers, letters, bytes): ([LetterNumber], [DeadLetter], Int) = ([], [], 0)
        var damaged: [LetterIndex.Entry] = []
        for entry in log.state.letters.entries where entry.number > lastLetter {
            lastLetter = entry.number
            guard let letter = try log.letter(entry) else {
                damaged.append(entry)
                continue
            }
            bytes += entry.size
            numbers.append(entry.number)
            letters.append(letter)
            if bytes >= LogBackup.pieceSize { break }
        }
        log.quarantine(damaged)
        guard !letters.isEmpty else { return bytes }
        let range = put(.changes) { writer in
            writer.put(all: letters) { LogChange.asked(.deadLetter($1)).write(to: &$0) }
        }
        for (index, number) in numbers.enumerated() {
            guard let frame = target?.position(range.lowerBound) else { continue }
            positions[number] = LetterPosition(frame: frame, index: index)
        }
        endSegment(from: log.options.segmentSize)
        return bytes
    }

    /// Copies a file of ids. Damaged ids are left out, as at a start.
    private func copy(_ filed: LogIDs.Filed, _ log: SegmentLog) throws(DiskFault) -> Int {
        endSegment(from: 0)
        let source = log.segment(filed.segment, filed.file)
        files += 1
        var copy = LogIDs.Filed(file: LogFile(number: files, size: 0), segment: UInt64(files), last: filed.last)
        if let content = try source.frame(at: LogHeader.size)?.content {
            var segment = BackupSegment(LogHeader(use: .ids, number: copy.segment, previous: 0, previousEnd: 0))
            emit(segment.header.bytes, of: files, at: 0)
            emit(segment.frame(.ids, certain: 0) { $0.putRest(content) }, of: files, at: LogHeader.size)
            copy.file.size = segment.end
        } else {
            files -= 1
        }
        filedIDs[filed.segment] = copy
        return copy.file.size
    }

    // MARK: Segments

    /// Writes a frame into the segment, which is begun if there is none.
    private func put(_ kind: LogFrame.Kind, _ body: (inout LogWriter) -> Void) -> Range<Int> {
        var segment = target ?? beginSegment()
        let start = segment.end
        emit(segment.frame(kind, certain: 0, body), of: UInt32(segment.header.number), at: start)
        target = segment
        return start..<segment.end
    }

    private func beginSegment() -> BackupSegment {
        files += 1
        let segment = BackupSegment(LogHeader(use: .copy, number: UInt64(files), previous: 0, previousEnd: 0))
        emit(segment.header.bytes, of: files, at: 0)
        return segment
    }

    /// Ends the segment with its summary if it has a size at least.
    private func endSegment(from least: Int) {
        guard let ended = target, ended.end >= least else { return }
        let summary = put(.summary) { ended.index.write(to: &$0) }
        target = nil
        segments.append(
            LogSegmentEntry(
                number: ended.header.number,
                file: LogFile(number: UInt32(ended.header.number), size: summary.upperBound),
                summary: summary.lowerBound, end: summary.upperBound, events: ended.index.events))
    }

    /// Ends the copy with a segment that has the state, and a closing frame.
    private func finish(_ present: LogState) {
        endSegment(from: 0)
        files += 1
        var segment = BackupSegment(
            LogHeader(use: .active, number: UInt64(files), previous: 0, previousEnd: 0))
        let state = copy(present)
        emit(segment.header.bytes, of: files, at: 0)
        emit(segment.frame(.snapshot, certain: 0) { $0.put(state) }, of: files, at: LogHeader.size)
        // Everything before the closing frame is on the disk: a backup that is not whole is not used.
        let end = segment.end
        emit(segment.frame(.closed, certain: end) { _ in }, of: files, at: end)
        emit([UInt8](repeating: 0, count: LogBackup.room), of: files, at: segment.end)
        isComplete = true
    }

    /// Returns the state of the copy.
    private func copy(_ present: LogState) -> LogState {
        var state = present
        state.segments = segments
        state.letters.remove { positions[$0.number] == nil }
        state.letters.move(positions)
        (state.damaged, state.erased) = ([:], nil)
        let filed = state.ids.files.compactMap { filedIDs[$0.segment] }.filter { $0.file.size > 0 }
        state.ids = LogIDs(recent: state.ids.recent, files: filed, forgottenThrough: state.ids.forgottenThrough)
        for name in leftOut { state.kept[name] = nil }
        return state
    }

    // MARK: Pieces

    private func path(_ file: UInt32) -> String { "log/" + LogFiles.name(file) }

    /// Adds bytes to the pieces that are ready.
    private func emit(_ bytes: [UInt8], of file: UInt32, at offset: Int) {
        var (rest, offset) = (bytes[...], offset)
        while !rest.isEmpty {
            if ready.last?.file != path(file) || ready.last.map({ $0.bytes.count >= LogBackup.pieceSize }) ?? true {
                ready.append(BackupPiece(file: path(file), offset: offset, bytes: []))
            }
            let part = rest.prefix(LogBackup.pieceSize - ready[ready.count - 1].bytes.count)
            ready[ready.count - 1].bytes += part
            rest.removeFirst(part.count)
            offset += part.count
        }
    }
}

/// A segment of a backup, whose frames are encoded one after the other.
private struct BackupSegment {
    let header: LogHeader
    /// The offset of the next frame.
    private(set) var end = LogHeader.size
    var index = LogIndex(blockSize: 256 << 10)
    /// The checksum of the last frame.
    private var last: UInt64

    init(_ header: LogHeader) {
        (self.header, last) = (header, header.checksum)
    }

    func position(_ offset: Int) -> LogPosition { LogPosition(segment: header.number, offset: offset) }

    /// Encodes a frame.
    /// - Parameter certain: the bytes that are on the disk before the frame.
    mutating func frame(_ kind: LogFrame.Kind, certain: Int, _ body: (inout LogWriter) -> Void) -> [UInt8] {
        var writer = LogWriter()
        last = writer.frame(kind, at: position(end), certain: certain, previous: last, body)
        end += writer.bytes.count
        return writer.bytes
    }
}
