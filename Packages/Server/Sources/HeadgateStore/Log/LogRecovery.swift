import HeadgateCore

/// The recovery of a log: it reads the files, and makes sure that everything in them is on the disk before anything
/// relies on it.
///
/// The last frames may be readable although they were never on the disk: a killed daemon had not synced them, or a sync
/// failed. Recovery writes such doubtful frames again, into a new segment that begins with the certain state. On a full
/// disk it writes them again in place (decision 52).
struct LogRecovery {
    struct Outcome {
        var files: LogFiles
        var state: LogState
        /// The sealed segments by number.
        var sealed: [UInt64: LogSegment]
        var active: ActiveSegment
        var nextNumber: UInt64
        /// The damage that was found, for the operator.
        var warnings: [String] = []
        /// Findings that may be damage or harmless, for the log of the daemon.
        var notes: [String] = []
        /// The number of unsettled events in damaged frames that no earlier start has found (Behaviour Q8).
        var quarantined = 0
    }

    typealias Fault = RecoveryFault

    private let options: StoreOptions
    /// The facts about the log that this process has written; nil at a start. Then every readable frame counts.
    private let written: WrittenLog?
    private let files: LogFiles
    private var warnings: [String] = []
    private var notes: [String] = []
    /// The numbers of the events in damaged frames that no earlier start has found.
    private var damaged: [Range<SequenceNumber>] = []
    /// Files whose header is damaged, and that no other file mentions.
    private var lost: [LogFile] = []

    init(_ options: StoreOptions, written: WrittenLog? = nil) {
        (self.options, self.written) = (options, written)
        files = LogFiles(options)
    }

    /// - Parameter number: the number after which the events of a fresh log are numbered.
    mutating func run(numbersBehind number: SequenceNumber = 0) throws(Fault) -> Outcome {
        let inventory = try LogInventory(files)
        guard let chain = try inventory.chain(written) else {
            switch try action(evidence(inventory)) {
            case .begin:
                inventory.blank.forEach(files.remove)
                return try begin(numbersBehind: number, inventory)
            case .renew: throw .gone
            default: throw .damaged("no segment can be read from its start")
            }
        }
        var replay = try replay(chain)
        let whole = try wholeState(replay)
        try inventory.requireKeys(of: whole)
        let known = Set(replay.state.segments.map(\.file) + replay.state.ids.files.map(\.file))
        lost = inventory.unreadable.filter { !known.contains($0) }
        replay.state.lastSequenceNumber = highestNumber(whole, behind: numbersLost(chain))
        // Retention that began with a doubtful frame keeps the events after that frame, not only those after this start.
        if replay.state.retention == nil {
            (replay.state.retention, replay.state.unretainedThrough) = (whole.retention, whole.unretainedThrough)
        }
        // Files that were never used are removed at once. Everything else stays until the action is on the disk.
        let blank = inventory.blank.filter { !known.contains($0) }
        blank.forEach(files.remove)
        let finished = try finish(replay, inventory)
        // A removed segment must not come back after a power failure: it could be taken for the newest.
        try Fault.of { () throws(DiskFault) in try files.makeRemovalsCertain() }
        let outcome = try setAside(finished)
        // Nothing may fail from here on: a retry would need the files that are removed now.
        let used = Set(
            outcome.state.segments.map(\.file) + outcome.state.ids.files.map(\.file) + [outcome.active.segment.file])
        for file in inventory.all where !used.contains(file) && !lost.contains(file) && !blank.contains(file) {
            files.remove(file)
        }
        return outcome
    }

    /// Returns the state after all frames, doubtful ones included. It is the state of the recovered log.
    private func wholeState(_ replay: Replay) throws(Fault) -> LogState {
        var state = replay.state
        let scratch = segment(replay.reading.source)
        for (frame, offset) in replay.doubtful {
            try apply(frame, replay.reading.content(frame, offset), at: offset, of: scratch, to: &state)
        }
        return state
    }

    /// Returns the highest number that may have been assigned: the highest that any frame mentions, doubtful ones
    /// included, plus the number of events that may be lost after it.
    /// - Parameter state: the state after all frames.
    private func highestNumber(_ state: LogState, behind lost: SequenceNumber) -> SequenceNumber {
        min(max(written?.given ?? 0, state.highestMentioned + lost), LogFormat.mostEvents)
    }

    /// Returns the number of events that may be lost after the last known one. Their numbers must not be assigned
    /// again. It is 0 for the process that wrote the log, which knows the numbers that it assigned.
    private func numbersLost(_ chain: [LogReading]) -> SequenceNumber {
        guard written == nil else { return 0 }
        let read = chain.reduce(0) { $0 + $1.bytesLostAtEnd / LogFormat.leastRecord }
        return SequenceNumber(lost.reduce(read) { $0 + $1.size / LogFormat.leastRecord })
    }

    /// Keeps files that cannot be read for the operator. The numbers of their events are not assigned again.
    private func setAside(_ outcome: Outcome) throws(Fault) -> Outcome {
        var outcome = outcome
        for file in lost {
            let name = try Fault.of { () throws(DiskFault) in try files.setAside(file) }
            outcome.warnings.append("a file of the log was damaged and was renamed to \(name)")
        }
        return outcome
    }

    // MARK: Replay

    /// The result of applying frames one after the other.
    private struct Replay {
        var state: LogState
        var tail: LogSegment
        var reading: LogReading
        /// The frames that may not be on the disk.
        var doubtful: ArraySlice<(frame: LogFrame, offset: Int)>
    }

    private mutating func replay(_ chain: [LogReading]) throws(Fault) -> Replay {
        var state = chain[0].snapshot ?? LogState()
        for (position, reading) in chain.enumerated() {
            let segment = segment(reading.source)
            let isTail = position == chain.count - 1
            let sure = isTail ? reading.report.certain : .max
            let frames = reading.report.frames[...]
            let doubtful = frames.drop { $0.offset < sure }
            for (frame, offset) in frames.prefix(frames.count - doubtful.count) {
                try apply(frame, reading.content(frame, offset), at: offset, of: segment, to: &state)
            }
            note(reading)
            if isTail { noteEnd(of: reading) }
            if isTail { return Replay(state: state, tail: segment, reading: reading, doubtful: doubtful) }
            state.segments.append(entry(segment, end: reading.report.end))
        }
        throw .damaged("the newest segment is missing")
    }

    private func apply(
        _ frame: LogFrame, _ content: [UInt8], at offset: Int, size: Int? = nil, of segment: LogSegment,
        to state: inout LogState
    ) throws(Fault) {
        do throws(LogReader.Unsound) {
            try content.withRawBytes { (bytes) throws(LogReader.Unsound) in
                switch frame.kind {
                case .group:
                    guard let group = try LogGroup.Pieces(bytes, frame.kind) else { break }
                    let extras: LogExtras = try group.extras.read()
                    state.apply(group.span)
                    state.apply(extras)
                    segment.index.add(group.span, at: offset..<offset + (size ?? frame.size))
                case .changes:
                    state.apply(try LogReader.value(in: bytes), in: segment.position(offset))
                case .restartMarker where !bytes.isEmpty:
                    var reader = LogReader(bytes)
                    state.lastSequenceNumber = max(state.lastSequenceNumber, try reader.takeSequenceNumber())
                case .snapshot, .summary, .closed, .ids, .restartMarker: break
                }
            }
        } catch {
            throw .damaged("a frame contradicts its header")
        }
    }

    /// Reports damage, and keeps the damaged bytes for the operator.
    private mutating func note(_ reading: LogReading) {
        for range in reading.report.damaged {
            let numbers = reading.numbers(in: range)
            let events = numbers.map { ", and \($0.count) \($0.count == 1 ? "event" : "events") with them" } ?? ""
            warnings.append("\(position(range, in: reading)) are damaged and are ignored\(events)")
            let name = "\(reading.source.header.number)-\(range.lowerBound)"
            // A segment without a summary is read, and its damage found, at each start until the segment is dropped.
            let isNew = files.putAside(Array(reading.bytes(range)), as: name)
            if isNew, let numbers { damaged.append(numbers) }
        }
    }

    /// Notes bytes after the last frame that may be lost events. Bytes after a closing frame are ignored: none of their
    /// events was acknowledged.
    private mutating func noteEnd(of reading: LogReading) {
        let isClosed = reading.report.frames.last?.frame.kind == .closed
        guard written == nil, !isClosed, let torn = reading.report.torn else { return }
        notes.append(
            "\(position(torn, in: reading)), at the end of the log, are an incomplete write or damaged: "
                + "their events were never acknowledged, or are lost")
    }

    private func position(_ range: Range<Int>, in reading: LogReading) -> String {
        "\(range.count) bytes of \(files.path(reading.source.file.number)) at \(range.lowerBound)"
    }

    // MARK: Actions

    /// Collects the facts about a log.
    /// - Parameter replay: nil if no segment begins with a sound snapshot.
    private func evidence(_ inventory: LogInventory, _ replay: Replay? = nil) -> LogEvidence {
        let (report, last) = (replay?.reading.report, replay?.reading.report.frames.last)
        let isClosed = last?.frame.kind == .closed
        let firstDoubtful = replay?.doubtful.first?.offset
        return LogEvidence(
            hasStart: replay != nil, hasFiles: !inventory.isEmpty, isOwn: written != nil,
            isWhole: lost.isEmpty && report?.damaged.isEmpty != false, isClosed: isClosed,
            isCertain: replay != nil && (firstDoubtful == nil || isClosed && firstDoubtful == last?.offset),
            hasOwnStart: replay?.reading.snapshot != nil, hasRoom: true)
    }

    private func action(_ evidence: LogEvidence) throws(Fault) -> RecoveryAction {
        guard let found = RecoveryCase.of(evidence) else { throw .damaged("the files contradict each other") }
        return found.action
    }

    private mutating func finish(_ replay: Replay, _ inventory: LogInventory) throws(Fault) -> Outcome {
        let evidence = evidence(inventory, replay)
        let action = try action(evidence)
        return try action == .rewrite ? rewrite(replay, evidence, inventory) : resume(replay, inventory)
    }

    /// Continues the segment after an orderly stop.
    private mutating func resume(_ replay: Replay, _ inventory: LogInventory) throws(Fault) -> Outcome {
        guard let last = replay.reading.report.frames.last else { throw .damaged("the newest segment has no record") }
        let active = active(replay, end: last.offset, last: last.frame.previous)
        try Fault.of { () throws(DiskFault) in try active.resume() }
        return try outcome(replay.state, active, next: inventory.newest + 1, inventory)
    }

    /// - Parameters:
    ///   - end: the offset of the next frame.
    ///   - last: the checksum of the frame before it.
    private func active(_ replay: Replay, end: Int, last: UInt64) -> ActiveSegment {
        // If a new segment could not be begun, this one may have its summary already.
        let summary = replay.reading.report.frames.last { $0.frame.kind == .summary }
        return ActiveSegment(
            replay.tail, replay.reading.source.header, end: end, last: last, summary: summary?.offset ?? 0)
    }

    private mutating func rewrite(
        _ replay: Replay, _ evidence: LogEvidence, _ inventory: LogInventory
    ) throws(Fault) -> Outcome {
        let number = inventory.newest + 1
        var state = replay.state
        let end = replay.reading.report.certain
        let old = entry(replay.tail, end: end)
        if !replay.tail.index.blocks.isEmpty || state.deadLetters.bytesBySegment[old.number] != nil {
            state.segments.append(old)
        }
        let carried = replay.doubtful.filter { $0.frame.kind == .group || $0.frame.kind == .changes }
        let need = ActiveSegment.size(for: state) + carried.reduce(0) { $0 + $1.frame.size + 1_024 }
        let header = files.header(.active, number, behind: old.number, end: end)
        let active: ActiveSegment
        do throws(Fault) { active = try self.active(header, atLeast: need, state) } catch {
            guard error.isNoRoom else { throw error }
            var evidence = evidence
            evidence.hasRoom = false
            guard try action(evidence) == .affirm else { throw error }
            return try affirm(replay, inventory)
        }
        for (frame, offset) in carried {
            let content = replay.reading.content(frame, offset)
            let range = active.encode(frame.kind) { $0.putRest(content) }
            // A frame under another key has another size.
            try apply(frame, content, at: range.lowerBound, size: range.count, of: active.segment, to: &state)
        }
        if !carried.isEmpty { active.encode(.restartMarker) { _ in } }
        try Fault.of { () throws(DiskFault) in try active.begin(synced: true) }
        return try outcome(state, active, known: replay.tail, next: number + 1, inventory)
    }

    /// Writes the doubtful frames again in place, and continues after them. A power failure meanwhile cannot harm the
    /// certain frames.
    private mutating func affirm(_ replay: Replay, _ inventory: LogInventory) throws(Fault) -> Outcome {
        let (reading, tail) = (replay.reading, replay.tail)
        let doubtful = replay.doubtful.filter { $0.frame.kind != .closed }
        var state = replay.state
        for (frame, offset) in doubtful {
            try apply(frame, reading.content(frame, offset), at: offset, of: tail, to: &state)
        }
        let frames = reading.report.frames.filter { $0.frame.kind != .closed }
        guard let last = frames.last else { throw .damaged("the newest segment has no record") }
        let end = last.offset + last.frame.size
        let begin = doubtful.first?.offset ?? end
        let active = active(replay, end: end, last: last.frame.checksum)
        try Fault.of { () throws(DiskFault) in
            // The next start must not take a later, unfinished segment for the newest one.
            for source in inventory.sources where source.header.number > tail.number {
                try files.wipe(source.file)
            }
            let file = try tail.open()
            try file.write(Array(reading.bytes(begin..<end)), at: begin)
            var kept = end
            if needsMarker(reading, behind: last) {
                // Nothing more is written behind a summary, so a closing frame may stay and prove the rest.
                kept = reading.report.end
                if active.hasRoom() {
                    try file.sync()
                    try active.record(given: state.lastSequenceNumber)
                    kept = active.end
                }
            }
            // Bytes after the end must not be taken for later frames.
            try file.fill(kept..<tail.file.size)
            try file.sync()
            // If the segment has just been begun, its header is in doubt as well.
            try file.write(reading.source.header.bytes, at: 0)
            try file.sync()
        }
        return try outcome(state, active, next: inventory.newest + 1, inventory)
    }

    /// Returns true if only a restart marker can tell the next start that damaged bytes had been on the disk, or how many
    /// events may have been in damaged bytes that are overwritten or set aside now.
    /// - Parameter last: the last frame except a closing frame.
    private func needsMarker(_ reading: LogReading, behind last: (frame: LogFrame, offset: Int)) -> Bool {
        guard let damage = reading.report.damaged.last, lost.isEmpty else { return !lost.isEmpty }
        return last.frame.kind != .restartMarker || damage.upperBound > last.offset
    }

    private mutating func begin(
        numbersBehind last: SequenceNumber, _ inventory: LogInventory
    ) throws(Fault) -> Outcome {
        let number = inventory.newest + 1
        var state = LogState()
        state.lastSequenceNumber = last
        let header = files.header(.active, number)
        let active = try active(header, atLeast: ActiveSegment.size(for: state), state)
        try Fault.of { () throws(DiskFault) in try active.begin(synced: true) }
        return try outcome(state, active, next: number + 1, inventory)
    }

    /// Begins a segment with a state, in a new file: a used file may still be needed if the power fails now.
    private func active(_ header: LogHeader, atLeast size: Int, _ state: LogState) throws(Fault) -> ActiveSegment {
        let file = try Fault.of { () throws(DiskFault) in try files.take(atLeast: size) }
        return ActiveSegment(segment(LogSource(file: file, header: header)), header, state)
    }

    /// Returns the outcome of a start, after loading the sealed segments.
    /// - Parameter known: a segment that has been read already.
    private mutating func outcome(
        _ state: LogState, _ active: ActiveSegment, known: LogSegment? = nil, next: UInt64, _ inventory: LogInventory
    ) throws(Fault) -> Outcome {
        var state = state
        // Forgotten files of ids may be gone, and their file numbers may be used again.
        _ = state.ids.takeForgottenFiles()
        if state.ids.files.contains(where: { !files.isThere($0.file.number) }) {
            warnings.append(
                "a file of ids of the log in \(files.directory) no longer exists: an event that is sent again may be "
                    + "stored twice")
            state.ids.lose { !files.isThere($0.number) }
        }
        let sealed = try load(&state, known, inventory)
        return Outcome(
            files: files, state: state, sealed: sealed, active: active, nextNumber: next, warnings: warnings,
            notes: notes, quarantined: damaged.reduce(0) { $0 + state.unsettled($1) }
        )
    }

    /// Returns the entry of a segment without a summary.
    private func entry(_ segment: LogSegment, end: Int) -> LogSegmentEntry {
        LogSegmentEntry(number: segment.number, file: segment.file, summary: 0, end: end, events: segment.index.events)
    }

    private func segment(_ source: LogSource) -> LogSegment {
        LogSegment(source.header.number, source.file, in: files, blockSize: options.blockSize)
    }

    // MARK: Sealed segments

    /// Reads the indexes of the segments. A segment whose file no longer exists is left out.
    private mutating func load(
        _ state: inout LogState, _ known: LogSegment?, _ inventory: LogInventory
    ) throws(Fault) -> [UInt64: LogSegment] {
        var sealed: [UInt64: LogSegment] = [:]
        for entry in state.segments {
            if entry.number == known?.number {
                sealed[entry.number] = known
                continue
            }
            guard let segment = try load(entry, state, inventory) else {
                warnings.append("the segment \(entry.number) of the log in \(files.directory) no longer exists")
                state.forget(entry.number)
                continue
            }
            sealed[entry.number] = segment
        }
        return sealed
    }

    private mutating func load(
        _ entry: LogSegmentEntry, _ state: LogState, _ inventory: LogInventory
    ) throws(Fault) -> LogSegment? {
        guard let source = try Fault.of({ () throws(DiskFault) in try inventory.source(entry) }) else { return nil }
        let segment = segment(source)
        if let index = try Fault.of({ () throws(DiskFault) in try summary(of: segment, at: entry.summary) }) {
            segment.index = index
            // An index without a summary does not count damaged blocks in the first place.
            for (position, lost) in state.damaged where position.segment == entry.number {
                segment.index.lose(lost, at: position.offset)
            }
            return segment
        }
        let reading = try inventory.read(source, through: entry.end, known: entry.end)
        note(reading)
        for (frame, offset) in reading.report.frames {
            reading.content(frame, offset).withUnsafeBytes { bytes in
                guard let group = try? LogGroup.Pieces(bytes, frame.kind) else { return }
                segment.index.add(group.span, at: offset..<offset + frame.size)
            }
        }
        return segment
    }

    /// - Parameter offset: the offset of the summary; 0 if there is none.
    private func summary(of segment: LogSegment, at offset: Int) throws(DiskFault) -> LogIndex? {
        guard offset > 0, let content = try segment.content(at: offset) else { return nil }
        return content.withUnsafeBytes { try? LogIndex($0, blockSize: options.blockSize) }
    }
}
