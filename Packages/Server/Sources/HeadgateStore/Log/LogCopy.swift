import HeadgateCore

/// Copies the needed content of sparse segments into one segment, a step at a time. So a blocked dispatcher does not
/// keep the room of events that all others have settled (Behaviour Q10).
///
/// The order of events stays: only neighbouring segments are copied together. The copy is not used until a frame of the
/// log says that it replaces these segments.
final class LogCopy {
    private let log: SegmentLog
    private let sources: [LogSegmentEntry]
    private let target: LogSegment
    private var draft: SegmentDraft
    /// The number of recoveries of the log when the copy began.
    private let recoveries: Int
    private var rest: ArraySlice<(segment: LogSegment, block: LogBlock)>
    private var restOfDeadLetters: ArraySlice<DeadLetterIndex.Entry>

    /// The most bytes of dead letters that are copied in one step.
    private static let piece = 256 << 10

    /// Begins a copy if the segments take more than one segment plus twice the bytes that are needed of them. Returns
    /// nil otherwise.
    convenience init?(_ log: SegmentLog) throws(DiskFault) {
        let plan = LogCopy.plan(log)
        guard !plan.isEmpty else { return nil }
        try self.init(log, of: plan)
    }

    /// Begins a copy of the needed parts of some neighbouring segments.
    init(_ log: SegmentLog, of plan: [LogSegmentEntry]) throws(DiskFault) {
        (self.log, sources, recoveries) = (log, plan, log.counts.recovered)
        let header = log.files.header(.copy, log.takeNumber())
        target = log.segment(header.number, LogFile(number: try log.files.makeEmpty(), size: 0))
        draft = SegmentDraft(header, sealedBy: log.files.cipher(of: header), blockSize: log.options.blockSize)
        let segments = plan.compactMap { log.sealed[$0.number] }
        rest = segments.flatMap { segment in segment.index.blocks.map { (segment, $0) } }[...]
        let numbers = Set(plan.map(\.number))
        restOfDeadLetters = log.state.deadLetters.entries.filter { numbers.contains($0.position.frame.segment) }[...]
    }

    // MARK: Plan

    /// Returns the first neighbouring segments that satisfy the condition, and whose needed content fits into one
    /// segment.
    static func plan(
        _ log: SegmentLog, of isIncluded: (LogSegmentEntry) throws(DiskFault) -> Bool
    ) throws(DiskFault) -> [LogSegmentEntry] {
        let need = log.state.needed
        var (taken, sum): ([LogSegmentEntry], Int) = ([], 0)
        for entry in log.state.segments {
            guard try isIncluded(entry) else {
                if taken.isEmpty { continue } else { break }
            }
            let bytes = need.bytes(of: entry.number, log.index(of: entry))
            guard taken.isEmpty || sum + bytes <= log.options.segmentSize else { break }
            taken.append(entry)
            sum += bytes
        }
        return taken
    }

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
            cancel()
            return false
        }
        if let (segment, block) = rest.popFirst() {
            try copy(block, of: segment)
            return true
        }
        if !restOfDeadLetters.isEmpty {
            try copyDeadLetters()
            return true
        }
        try finish()
        return false
    }

    /// Drops the copy. After a recovery its file may have another use already.
    func cancel() {
        guard log.counts.recovered == recoveries, !log.isBroken else { return }
        log.files.free(target.file)
    }

    private func copy(_ block: LogBlock, of segment: LogSegment) throws(DiskFault) {
        let needed = log.state.needed
        guard needed.bytes(of: block.span) > 0, let events = try log.events(of: block, in: segment, needed)
        else { return }
        try write(draft.encode(events, packedFrom: log.options.leastPacked))
    }

    private func copyDeadLetters() throws(DiskFault) {
        let deadLetters = try log.takeDeadLetters(&restOfDeadLetters, ofBytes: LogCopy.piece)
        if !deadLetters.isEmpty { try write(draft.encode(deadLetters)) }
    }

    private func write(_ frame: SegmentDraft.Frame) throws(DiskFault) {
        let file = try target.open()
        try file.write(frame.bytes, at: frame.offset)
        // The sync at the end then takes less time. Commits wait for it.
        file.writeOut(frame.offset..<frame.offset + frame.bytes.count)
    }

    private func finish() throws(DiskFault) {
        let summary = draft.encodeSummary()
        try write(summary)
        let file = try target.open()
        try file.write(draft.header.bytes, at: 0)
        try file.sync()
        try log.files.syncNames()
        let entry = draft.entry(file: target.file.number, summary: summary.offset)
        let whole = log.segment(entry.number, entry.file)
        whole.index = draft.index
        log.files.note(entry.file)
        if try !log.replace(sources.map(\.number), by: whole, entry, deadLetters: draft.deadLetters) { cancel() }
    }
}

extension SegmentLog {
    /// Reads the needed events of a block. A copy cannot contain damaged events, so they are counted and put aside now.
    /// - Parameter number: events up to this one are left out.
    /// - Returns: nil if there are none.
    func events(
        of block: LogBlock, in segment: LogSegment, _ needed: Needed, after number: SequenceNumber = 0
    ) throws(DiskFault) -> NeededEvents? {
        var found: NeededEvents?
        func add(_ records: [UInt8], _ span: LogSpan) {
            if found == nil { found = NeededEvents(records: [], span: span) } else { found?.span.add(span) }
            found?.records += records
        }
        var sound = RouteTallies()
        try segment.visitGroups(block) { group in
            guard let chunk = group.chunk else { return }
            sound += group.span.tallies
            let isNeeded = { (event: StoredEvent) in event.sequenceNumber > number && needed.contains(event) }
            guard !chunk.allSatisfy(isNeeded) else { return add(chunk.bytes, group.span) }
            for event in chunk where isNeeded(event) { add(event.record, LogSpan(event)) }
        }
        quarantine(block, sound, of: segment)
        return found
    }

    /// Reads the first dead letters, until they have some bytes. Damaged ones are deleted.
    /// - Parameter entries: the dead letters to read. Afterwards the rest.
    func takeDeadLetters(
        _ entries: inout ArraySlice<DeadLetterIndex.Entry>, ofBytes most: Int
    ) throws(DiskFault) -> [StoredDeadLetter] {
        var (deadLetters, bytes): ([StoredDeadLetter], Int) = ([], 0)
        var damaged: [DeadLetterIndex.Entry] = []
        while bytes < most, let entry = entries.popFirst() {
            guard let deadLetter = try deadLetter(entry) else {
                damaged.append(entry)
                continue
            }
            bytes += entry.size
            deadLetters.append(StoredDeadLetter(number: entry.number, deadLetter: deadLetter))
        }
        quarantine(damaged)
        return deadLetters
    }
}

extension LogSpan {
    /// Creates the span of one event.
    fileprivate init(_ event: StoredEvent) {
        let chunk = Chunk(bytes: event.record, lastSequenceNumber: event.sequenceNumber)
        self.init(
            first: event.sequenceNumber, last: event.sequenceNumber,
            tallies: RouteTallies([event]), ages: GroupAges(chunk))
    }
}
