import HeadgateCore

/// A copy of a running log for a backup: its needed events, its dead letters, its files of ids, and its state.
///
/// Events are copied in order, up to the newest, while the log is written. The state is copied last, once everything
/// before it is copied. A start that uses the copy finds the files of a log that was closed in order.
final class LogBackup {
    /// The names of kept values that the copy leaves out.
    private let leftOut: Set<String>
    /// All events up to this one are copied, as far as they are needed.
    private var copiedThrough: SequenceNumber = 0
    private var lastDeadLetter: DeadLetterNumber = 0
    private var positions: [DeadLetterNumber: DeadLetterPosition] = [:]
    /// The copied files of ids, by the segment number of the original.
    private var filedIDs: [UInt64: LogIDs.Filed] = [:]
    private var segments: [LogSegmentEntry] = []
    /// The segment that is being written.
    private var target: SegmentDraft?
    /// The number of files so far. A file and its segment have the same number.
    private var files: UInt32 = 0
    private var ready: [BackupPiece] = []
    private var isComplete = false
    /// The files of the log, whose key also encrypts the copy; nil before the copy has begun.
    private var source: LogFiles?
    /// The number of times that the log was rewound, erased from or recovered, at the beginning of the copy. Events that have
    /// been left out may be needed after a rewind, and events that have been copied may be erased, or gone after a recovery.
    private var interruptions: Int?

    /// The bytes of a piece.
    private static let pieceSize = 128 << 10
    /// The most bytes that are read for one piece.
    private static let mostRead = 1 << 20
    /// The bytes that stay free after the state, so that the next start need not begin another segment at once.
    private static let room = 64 << 10
    /// The bytes of a block in the copy's indexes.
    private static let blockSize = 256 << 10

    /// - Parameter leftOut: the names of kept values that the copy leaves out.
    init(without leftOut: [String]) {
        self.leftOut = Set(leftOut)
    }

    /// Returns the next piece; nil if the copy cannot be continued, because the log was rewound, erased from or repaired meanwhile.
    func next(of log: SegmentLog) throws(DiskFault) -> BackupPiece? {
        try log.repair()
        let now = log.counts.rewound + log.counts.erased + log.counts.recovered
        guard (interruptions ?? now) == now else { return nil }
        (interruptions, source) = (now, log.files)
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
        if log.state.deadLetters.entries.last.map({ $0.number > lastDeadLetter }) ?? false {
            return try copyDeadLetters(log)
        }
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
        let events = try log.events(of: block, in: segment, needed, after: copiedThrough)
        copiedThrough = max(copiedThrough, block.span.last)
        guard let events else { return block.range.count }
        add { $0.encode(events, packedFrom: log.options.leastPacked) }
        endSegment(from: log.options.segmentSize)
        return block.range.count
    }

    // MARK: Dead letters and ids

    private func copyDeadLetters(_ log: SegmentLog) throws(DiskFault) -> Int {
        let all = log.state.deadLetters.entries
        var rest = all.drop { $0.number <= lastDeadLetter }
        let deadLetters = try log.takeDeadLetters(&rest, ofBytes: LogBackup.pieceSize)
        lastDeadLetter = all[rest.startIndex - 1].number
        guard !deadLetters.isEmpty else { return 0 }
        add { $0.encode(deadLetters) }
        endSegment(from: log.options.segmentSize)
        return deadLetters.reduce(0) { $0 + $1.deadLetter.record.count }
    }

    /// Copies a file of ids. Damaged ids are left out, as at a start.
    private func copy(_ filed: LogIDs.Filed, _ log: SegmentLog) throws(DiskFault) -> Int {
        endSegment(from: 0)
        var copy = LogIDs.Filed(file: LogFile(number: 0, size: 0), segment: 0, last: filed.last)
        if let content = try log.segment(filed.segment, filed.file).content(at: LogHeader.size) {
            var draft = begin(.ids)
            emit(draft.encode(.ids) { $0.putRest(content) })
            (copy.segment, copy.file) = (draft.header.number, LogFile(number: files, size: draft.end))
        }
        filedIDs[filed.segment] = copy
        return copy.file.size
    }

    // MARK: Segments

    /// Begins the next file.
    private func begin(_ use: LogHeader.Use) -> SegmentDraft {
        files += 1
        let number = UInt64(files)
        let header = source?.header(use, number) ?? LogHeader(use: use, number: number, previous: 0, previousEnd: 0)
        emit(SegmentDraft.Frame(offset: 0, bytes: header.bytes))
        return SegmentDraft(header, sealedBy: source?.cipher(of: header), blockSize: LogBackup.blockSize)
    }

    /// Adds a frame to the segment, which is begun if there is none.
    @discardableResult
    private func add(_ encode: (inout SegmentDraft) -> SegmentDraft.Frame) -> SegmentDraft.Frame {
        var segment = target ?? begin(.copy)
        let frame = encode(&segment)
        emit(frame)
        target = segment
        return frame
    }

    /// Ends the segment with its summary if it has at least this size.
    private func endSegment(from least: Int) {
        guard let size = target?.end, size >= least else { return }
        let summary = add { $0.encodeSummary() }
        guard let ended = target else { return }
        segments.append(ended.entry(file: files, summary: summary.offset))
        positions.merge(ended.deadLetters) { $1 }
        target = nil
    }

    /// Ends the copy with a segment that has the state, and a closing frame.
    private func finish(_ present: LogState) {
        endSegment(from: 0)
        let state = copy(present)
        var segment = begin(.active)
        emit(segment.encode(.snapshot) { $0.put(state) })
        // Everything before the closing frame is on the disk: a backup that is not whole is not used.
        emit(segment.encode(.closed, certain: segment.end) { _ in })
        emit(SegmentDraft.Frame(offset: segment.end, bytes: [UInt8](repeating: 0, count: LogBackup.room)))
        isComplete = true
    }

    /// Returns the state of the copy.
    private func copy(_ present: LogState) -> LogState {
        var state = present
        state.segments = segments
        state.deadLetters.remove { positions[$0.number] == nil }
        state.deadLetters.move(positions)
        (state.damaged, state.erased) = ([:], nil)
        let filed = state.ids.files.compactMap { filedIDs[$0.segment] }.filter { $0.file.size > 0 }
        state.ids = LogIDs(recent: state.ids.recent, files: filed, forgottenThrough: state.ids.forgottenThrough)
        for name in leftOut { state.kept[name] = nil }
        return state
    }

    // MARK: Pieces

    private func path(_ file: UInt32) -> String { "log/" + LogFiles.name(file) }

    /// Adds bytes of the newest file to the pieces that are ready.
    private func emit(_ frame: SegmentDraft.Frame) {
        let path = path(files)
        var (rest, offset) = (frame.bytes[...], frame.offset)
        while !rest.isEmpty {
            if ready.last?.file != path || ready.last.map({ $0.bytes.count >= LogBackup.pieceSize }) ?? true {
                ready.append(BackupPiece(file: path, offset: offset, bytes: []))
            }
            let part = rest.prefix(LogBackup.pieceSize - ready[ready.count - 1].bytes.count)
            ready[ready.count - 1].bytes += part
            rest.removeFirst(part.count)
            offset += part.count
        }
    }
}
