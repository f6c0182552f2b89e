import HeadgateCore

/// Copies what is needed of some sparse segments into one, a step at a time, so that a blocked dispatcher does not keep
/// what all others have settled (Behaviour Q10).
///
/// The order of events stays: only neighbouring segments are copied together. The copy does not count until the log
/// says that it replaces them.
final class LogCopy {
    private let log: SegmentLog
    private let sources: [LogSegmentEntry]
    private let target: LogSegment
    private let header: LogHeader
    /// The number of recoveries of the log when the copy began.
    private let recoveries: Int
    private var rest: ArraySlice<(segment: LogSegment, block: LogBlock)>
    private var restOfLetters: ArraySlice<LetterIndex.Entry>
    private var positions: [LetterNumber: LetterPosition] = [:]
    private var end = LogHeader.size
    private var last: UInt64
    private var writer = LogWriter()

    /// The bytes of dead letters that are copied in one step.
    private static let piece = 256 << 10

    /// Begins a copy if the segments take more than twice what is needed of them, and one segment more.
    convenience init?(_ log: SegmentLog) throws(DiskFault) {
        let plan = LogCopy.plan(log)
        guard !plan.isEmpty else { return nil }
        try self.init(log, of: plan)
    }

    /// Begins a copy of what is needed of some neighbouring segments.
    init(_ log: SegmentLog, of plan: [LogSegmentEntry]) throws(DiskFault) {
        (self.log, sources, recoveries) = (log, plan, log.counts.recovered)
        header = LogHeader(use: .copy, number: log.takeNumber(), previous: 0, previousEnd: 0)
        target = log.segment(header.number, LogFile(number: try log.files.makeEmpty(), size: 0))
        last = header.checksum
        let segments = plan.compactMap { log.sealed[$0.number] }
        rest = segments.flatMap { segment in segment.index.blocks.map { (segment, $0) } }[...]
        let numbers = Set(plan.map(\.number))
        restOfLetters = log.state.letters.entries.filter { numbers.contains($0.position.frame.segment) }[...]
    }

    // MARK: Plan

    /// Returns neighbouring segments that are less than half needed. The segment before the active one is left out.
    private static func plan(_ log: SegmentLog) -> [LogSegmentEntry] {
        let need = log.state.needed
        let all = log.state.segments.dropLast().map {
            (entry: $0, needed: need.bytes(of: $0.number, log.index(of: $0)))
        }
        let needed = all.reduce(0) { $0 + $1.needed }
        let taken = all.reduce(0) { $0 + $1.entry.file.size }
        guard taken > 2 * needed + log.options.segmentSize else { return [] }
        let isSparse = { (position: Int) in all[position].needed * 2 < all[position].entry.file.size }
        let sparsest = all.indices.filter(isSparse).min { all[$0].needed < all[$1].needed }
        guard let sparsest else { return [] }
        var (first, end, sum) = (sparsest, sparsest + 1, all[sparsest].needed)
        while end < all.count, isSparse(end), sum + all[end].needed <= log.options.segmentSize {
            sum += all[end].needed
            end += 1
        }
        while first > 0, isSparse(first - 1), sum + all[first - 1].needed <= log.options.segmentSize {
            sum += all[first - 1].needed
            first -= 1
        }
        return all[first..<end].map(\.entry)
    }

    // MARK: Copying

    /// Does a step of the copy.
    /// - Returns: true if there is more to copy.
    func step() throws(DiskFault) -> Bool {
        // A recovery takes the copy's file for an unused one. If the log must be repaired, that is done before the copy
        // is completed.
        try log.repair()
        guard log.counts.recovered == recoveries, sources.allSatisfy({ log.sealed[$0.number] != nil }) else {
            giveUp()
            return false
        }
        if let (segment, block) = rest.popFirst() {
            try copy(block, of: segment)
            return true
        }
        if !restOfLetters.isEmpty {
            try copyLetters()
            return true
        }
        try finish()
        return false
    }

    /// Drops the copy. After a recovery its file may have another use already.
    func giveUp() {
        guard log.counts.recovered == recoveries, !log.isBroken else { return }
        log.files.free(target.file)
    }

    private func copy(_ block: LogBlock, of segment: LogSegment) throws(DiskFault) {
        let needed = log.state.needed
        guard needed.bytes(of: block.span) > 0 else { return }
        var records: [UInt8] = []
        var found: LogSpan?
        var sound = RouteTallies()
        try segment.visitGroups(block) { group in
            guard let chunk = group.chunk else { return }
            sound += group.span.tallies
            for event in chunk where needed.contains(event) {
                let own = LogSpan(event)
                if found == nil { found = own } else { found?.add(own) }
                records += event.record
            }
        }
        // The copy has no place for damaged events, so that they are counted now.
        log.quarantine(block, sound, of: segment)
        guard let span = found else { return }
        let leastPacked = log.options.leastPacked
        let range = encode(.group) { LogGroup.write(records, span, packedFrom: leastPacked, to: &$0) }
        try write()
        target.index.add(span, at: range)
    }

    private func copyLetters() throws(DiskFault) {
        var (numbers, letters, bytes): ([LetterNumber], [DeadLetter], Int) = ([], [], 0)
        var damaged: [LetterIndex.Entry] = []
        while let entry = restOfLetters.first, bytes < LogCopy.piece {
            restOfLetters.removeFirst()
            guard let letter = try log.letter(entry) else {
                damaged.append(entry)
                continue
            }
            bytes += entry.size
            numbers.append(entry.number)
            letters.append(letter)
        }
        log.quarantine(damaged)
        guard !letters.isEmpty else { return }
        let range = encode(.changes) { writer in
            writer.put(all: letters) { LogChange.asked(.deadLetter($1)).write(to: &$0) }
        }
        for (index, number) in numbers.enumerated() {
            positions[number] = LetterPosition(frame: target.position(range.lowerBound), index: index)
        }
        try write()
    }

    private func encode(_ kind: LogFrame.Kind, _ body: (inout LogWriter) -> Void) -> Range<Int> {
        let start = end
        last = writer.frame(kind, at: target.position(start), certain: 0, previous: last, body)
        end += writer.bytes.count
        return start..<end
    }

    private func write() throws(DiskFault) {
        defer { writer.cut(to: 0) }
        try writer.write(to: target.open(), at: end - writer.bytes.count)
    }

    private func finish() throws(DiskFault) {
        let summary = encode(.summary) { target.index.write(to: &$0) }
        try write()
        writer.putRest(header.bytes)
        let file = try target.open()
        try writer.write(to: file, at: 0)
        writer.cut(to: 0)
        try file.sync()
        try log.files.syncNames()
        let whole = log.segment(header.number, LogFile(number: target.file.number, size: end))
        whole.index = target.index
        log.files.note(whole.file)
        let entry = LogSegmentEntry(
            number: header.number, file: whole.file, summary: summary.lowerBound, end: end,
            events: whole.index.events)
        if try !log.replace(sources.map(\.number), by: whole, entry, letters: positions) { giveUp() }
    }
}

extension LogSpan {
    /// Creates the span of one event.
    init(_ event: StoredEvent) {
        let chunk = Chunk(bytes: event.record, lastSequenceNumber: event.sequenceNumber)
        self.init(
            first: event.sequenceNumber, last: event.sequenceNumber,
            tallies: RouteTallies([event]), ages: GroupAges(chunk))
    }
}
