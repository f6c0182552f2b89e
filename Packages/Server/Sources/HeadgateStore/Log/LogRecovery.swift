import HeadgateCore

/// Finds out what the files of a log say, and sees to it that all of it is on the disk, beyond doubt, before anything relies
/// on it.
///
/// What the end of the log says may have never reached the disk, though it can be read: a daemon that was killed had not synced
/// it, or a sync failed. So it is written anew, into a segment of its own that begins with all that is beyond doubt; on a full disk
/// it is written once more where it lies (decision 52).
struct LogRecovery {
    struct Outcome {
        var files: LogFiles
        var state: LogState
        /// The segments that are written no more, by number.
        var sealed: [UInt64: LogSegment]
        var front: LogFront
        var nextNumber: UInt64
        /// What was damaged, for people.
        var warnings: [String] = []
        /// What may be damage, and may be nothing.
        var notes: [String] = []
    }

    /// Why a log could not be recovered.
    enum Fault: Error {
        case disk(DiskFault)
        /// A daemon with another version of the format wrote it.
        case foreign(String)
        /// There is a log, and nothing that one could begin with.
        case damaged(String)
        /// The files of a log that this life has written were taken away.
        case gone
    }

    /// What a daemon knows of the log that it writes.
    struct Written {
        /// Behind this nothing counts.
        var end: LogPlace
        /// So much of that segment is on the disk beyond doubt.
        var certain: Int
        /// The highest number that was given.
        var given: SequenceNumber
    }

    private let options: StoreOptions
    /// Nil at a start, where all counts that can be read.
    private let written: Written?
    private let files: LogFiles
    private var warnings: [String] = []
    private var notes: [String] = []
    /// Files that say nothing any more of what they are, and of which the rest of the log knows nothing.
    private var lost: [LogFile] = []

    init(_ options: StoreOptions, written: Written? = nil) {
        (self.options, self.written) = (options, written)
        files = LogFiles(options)
    }

    /// - Parameter number: events of a log that is begun here have numbers behind this one.
    mutating func run(numbersBehind number: SequenceNumber = 0) throws(Fault) -> Outcome {
        let inventory = try LogInventory(files)
        guard let chain = try inventory.chain(written) else {
            switch try action(evidence(inventory)) {
            case .begin:
                inventory.blank.forEach(files.remove)
                return try begin(numbersBehind: number, inventory)
            case .renew: throw .gone
            default: throw .damaged("no segment of it can be read from its beginning")
            }
        }
        var replay = try replay(chain)
        let known = Set(replay.state.segments.map(\.file) + replay.state.ids.files.map(\.file))
        lost = inventory.unreadable.filter { !known.contains($0) }
        replay.state.lastSequenceNumber = try lastGiven(replay, behind: numbersLost(chain))
        // What was never needed makes room at once. All else waits until what says so is on the disk.
        let blank = inventory.blank.filter { !known.contains($0) }
        blank.forEach(files.remove)
        let finished = try finish(replay, inventory)
        // One that says that it is the newest, and was wiped by a sync that failed, would be gone on with if it came back.
        try Fault.of { () throws(DiskFault) in try files.makeRemovalsCertain() }
        let outcome = try setAside(finished)
        // From here on nothing may fail: it would be tried again with what is removed now.
        let used = Set(
            outcome.state.segments.map(\.file) + outcome.state.ids.files.map(\.file) + [outcome.front.segment.file])
        for file in inventory.all where !used.contains(file) && !lost.contains(file) && !blank.contains(file) {
            files.remove(file)
        }
        return outcome
    }

    /// The highest number that may have been given: the highest of which anything is said, also by what is not beyond doubt, which a
    /// start carries on with, or that of a damaged event behind it.
    private func lastGiven(_ replay: Replay, behind lost: SequenceNumber) throws(Fault) -> SequenceNumber {
        var state = replay.state
        let scratch = segment(replay.reading.source)
        for (frame, offset) in replay.doubtful {
            try apply(frame, replay.reading.content(frame, offset), at: offset, of: scratch, to: &state)
        }
        return min(max(written?.given ?? 0, state.highestMentioned + lost), LogFormat.mostEvents)
    }

    /// As many numbers as events may be lost behind the last that is known: nobody else must get theirs. Who wrote them knows them.
    private func numbersLost(_ chain: [LogReading]) -> SequenceNumber {
        guard written == nil else { return 0 }
        let read = chain.reduce(0) { $0 + $1.bytesLostAtEnd / LogFormat.leastRecord }
        return SequenceNumber(lost.reduce(read) { $0 + $1.size / LogFormat.leastRecord })
    }

    /// What cannot be read any more is kept for people, and its numbers are not given again.
    private func setAside(_ outcome: Outcome) throws(Fault) -> Outcome {
        var outcome = outcome
        for file in lost {
            let name = try Fault.of { () throws(DiskFault) in try files.setAside(file) }
            outcome.warnings.append("a file of the log was damaged, and is set aside as \(name)")
        }
        return outcome
    }

    // MARK: What it says

    /// What frames make, one behind the other.
    private struct Replay {
        var state: LogState
        var tail: LogSegment
        var reading: LogReading
        /// What is not beyond doubt on the disk.
        var doubtful: ArraySlice<(frame: LogFrame, offset: Int)>
    }

    private mutating func replay(_ chain: [LogReading]) throws(Fault) -> Replay {
        var state = chain[0].snapshot ?? LogState()
        for (place, reading) in chain.enumerated() {
            let segment = segment(reading.source)
            let isTail = place == chain.count - 1
            let sure = isTail ? reading.survey.certain : .max
            let frames = reading.survey.frames[...]
            let doubtful = frames.drop { $0.offset < sure }
            for (frame, offset) in frames.prefix(frames.count - doubtful.count) {
                try apply(frame, reading.content(frame, offset), at: offset, of: segment, to: &state)
            }
            note(reading)
            if isTail { noteEnd(of: reading) }
            if isTail { return Replay(state: state, tail: segment, reading: reading, doubtful: doubtful) }
            state.segments.append(entry(segment, end: reading.survey.end, summary: 0))
        }
        throw .damaged("it has no end")
    }

    private func apply(
        _ frame: LogFrame, _ content: ArraySlice<UInt8>, at offset: Int, of segment: LogSegment,
        to state: inout LogState
    ) throws(Fault) {
        do throws(LogReader.Unsound) {
            try content.lend { (bytes) throws(LogReader.Unsound) in
                switch frame.kind {
                case .group:
                    guard let group = try LogGroup.Pieces(bytes, frame.kind) else { break }
                    let extras = try group.extras.read { (reader) throws(LogReader.Unsound) in try LogExtras(&reader) }
                    state.apply(group.stretch)
                    state.apply(extras)
                    segment.index.add(group.stretch, at: offset..<offset + frame.size)
                case .changes:
                    var reader = LogReader(bytes)
                    let changes = try reader.takeAll { (reader) throws(LogReader.Unsound) in try LogChange(&reader) }
                    state.apply(changes, in: segment.place(offset))
                case .snapshot, .summary, .closed, .ids, .foundation: break
                }
            }
        } catch {
            throw .damaged("a frame of it is not what it says")
        }
    }

    /// What is damaged is told, and kept for people.
    private mutating func note(_ reading: LogReading) {
        for range in reading.survey.damaged {
            let events = reading.events(in: range).map { ", and \($0) events with them" } ?? ""
            warnings.append("\(place(range, in: reading)) are damaged and left out\(events)")
            files.putAside(Array(reading.bytes(range)), as: "\(reading.source.header.number)-\(range.lowerBound)")
        }
    }

    /// Behind an end in order lies nothing that was ever acknowledged.
    private mutating func noteEnd(of reading: LogReading) {
        let isClosed = reading.survey.frames.last?.frame.kind == .closed
        guard written == nil, !isClosed, let torn = reading.survey.torn else { return }
        notes.append(
            "\(place(torn, in: reading)), at the end of the log, are of a write that was cut off, or they are damaged: "
                + "what they held was never acknowledged, or it is lost")
    }

    private func place(_ range: Range<Int>, in reading: LogReading) -> String {
        "\(range.count) bytes of \(files.path(reading.source.file.number)) at \(range.lowerBound)"
    }

    // MARK: Going on

    /// The facts about a log.
    /// - Parameter replay: nil where no segment begins with a sound snapshot.
    private func evidence(_ inventory: LogInventory, _ replay: Replay? = nil) -> LogEvidence {
        let (survey, last) = (replay?.reading.survey, replay?.reading.survey.frames.last)
        let isClosed = last?.frame.kind == .closed
        let firstDoubtful = replay?.doubtful.first?.offset
        return LogEvidence(
            hasStart: replay != nil, hasFiles: !inventory.isEmpty, isOwn: written != nil,
            isWhole: lost.isEmpty && survey?.damaged.isEmpty != false, isClosed: isClosed,
            isCertain: replay != nil && (firstDoubtful == nil || isClosed && firstDoubtful == last?.offset),
            isFounded: isClosed && survey?.frames.dropLast().last?.frame.kind == .foundation,
            hasOwnStart: replay?.reading.snapshot != nil, hasRoom: true)
    }

    private func action(_ evidence: LogEvidence) throws(Fault) -> RecoveryAction {
        guard let found = RecoveryCase.of(evidence) else { throw .damaged("nothing is known of what it says") }
        return found.action
    }

    private mutating func finish(_ replay: Replay, _ inventory: LogInventory) throws(Fault) -> Outcome {
        let evidence = evidence(inventory, replay)
        let action = try action(evidence)
        guard action == .rewrite else {
            return try resume(replay, isFounded: action == .resumeFounded, inventory)
        }
        return try rewrite(replay, evidence, inventory)
    }

    /// Goes on where the daemon stopped in order.
    private mutating func resume(
        _ replay: Replay, isFounded: Bool, _ inventory: LogInventory
    ) throws(Fault) -> Outcome {
        guard let last = replay.reading.survey.frames.last else { throw .damaged("it has no end") }
        let front = front(replay, end: last.offset, last: last.frame.previous)
        try Fault.of { () throws(DiskFault) in try front.resume(isFounded: isFounded) }
        return try outcome(replay.state, front, next: inventory.newest + 1, inventory)
    }

    /// - Parameters:
    ///   - end: where the next frame goes.
    ///   - last: the checksum of the frame before.
    private func front(_ replay: Replay, end: Int, last: UInt64) -> LogFront {
        // Where another segment could not be begun, this one has its summary already.
        let summary = replay.reading.survey.frames.last { $0.frame.kind == .summary }
        return LogFront(
            replay.tail, replay.reading.source.header, end: end, last: last, summary: summary?.offset ?? 0)
    }

    private mutating func rewrite(
        _ replay: Replay, _ evidence: LogEvidence, _ inventory: LogInventory
    ) throws(Fault) -> Outcome {
        let number = inventory.newest + 1
        var state = replay.state
        let end = replay.reading.survey.certain
        let old = entry(replay.tail, end: end, summary: 0)
        if !replay.tail.index.blocks.isEmpty || state.letters.bytesBySegment[old.number] != nil {
            state.segments.append(old)
        }
        let carried = replay.doubtful.filter { $0.frame.kind == .group || $0.frame.kind == .changes }
        let need = LogFront.size(for: state) + carried.reduce(0) { $0 + $1.frame.size + 1_024 }
        let header = LogHeader(use: .front, number: number, previous: old.number, previousEnd: end)
        let front: LogFront
        do throws(Fault) { front = try self.front(header, atLeast: need, state) } catch {
            guard error.isNoRoom else { throw error }
            var evidence = evidence
            evidence.hasRoom = false
            guard try action(evidence) == .affirm else { throw error }
            return try affirm(replay, inventory)
        }
        for (frame, offset) in carried {
            let content = replay.reading.content(frame, offset)
            let range = front.lay(frame.kind) { $0.putRest(Array(content)) }
            try apply(frame, content, at: range.lowerBound, of: front.segment, to: &state)
        }
        if !carried.isEmpty { front.lay(.foundation) { _ in } }
        try Fault.of { () throws(DiskFault) in try front.begin(synced: true) }
        return try outcome(state, front, known: replay.tail, next: number + 1, inventory)
    }

    /// Writes what is doubtful once more where it lies, and goes on behind it. What was on the disk stays what it is, whatever the power
    /// does meanwhile.
    private mutating func affirm(_ replay: Replay, _ inventory: LogInventory) throws(Fault) -> Outcome {
        let (reading, tail) = (replay.reading, replay.tail)
        let doubtful = replay.doubtful.filter { $0.frame.kind != .closed }
        var state = replay.state
        for (frame, offset) in doubtful {
            try apply(frame, reading.content(frame, offset), at: offset, of: tail, to: &state)
        }
        let frames = reading.survey.frames.filter { $0.frame.kind != .closed }
        guard let last = frames.last else { throw .damaged("it has no end") }
        let end = last.offset + last.frame.size
        let begin = doubtful.first?.offset ?? end
        try Fault.of { () throws(DiskFault) in
            // What was begun behind it and did not come to be must not be the newest for a later start.
            for source in inventory.sources where source.header.number > tail.number {
                try files.wipe(source.file)
            }
            let file = try tail.open()
            try Array(reading.bytes(begin..<end)).lend { (bytes) throws(DiskFault) in try file.write(bytes, at: begin) }
            // What stands behind it must not be taken for what came after what is written next.
            try file.fill(end..<tail.file.size)
            try file.sync()
            // Of a segment that has just been begun the header is in doubt as well.
            try reading.source.header.bytes.lend { (bytes) throws(DiskFault) in try file.write(bytes, at: 0) }
            try file.sync()
        }
        let front = front(replay, end: end, last: last.frame.checksum)
        return try outcome(state, front, next: inventory.newest + 1, inventory)
    }

    private mutating func begin(
        numbersBehind last: SequenceNumber, _ inventory: LogInventory
    ) throws(Fault) -> Outcome {
        let number = inventory.newest + 1
        var state = LogState()
        state.lastSequenceNumber = last
        let header = LogHeader(use: .front, number: number, previous: 0, previousEnd: 0)
        let front = try front(header, atLeast: LogFront.size(for: state), state)
        try Fault.of { () throws(DiskFault) in try front.begin(synced: true) }
        return try outcome(state, front, next: number + 1, inventory)
    }

    /// A segment that begins with a state, in a file of its own: one that was used before may be needed after all, if the power
    /// goes now.
    private func front(_ header: LogHeader, atLeast size: Int, _ state: LogState) throws(Fault) -> LogFront {
        let file = try Fault.of { () throws(DiskFault) in try files.take(atLeast: size) }
        return LogFront(segment(LogSource(file: file, header: header)), header, state)
    }

    /// - Parameter known: a segment that has been read already.
    private mutating func outcome(
        _ state: LogState, _ front: LogFront, known: LogSegment? = nil, next: UInt64, _ inventory: LogInventory
    ) throws(Fault) -> Outcome {
        var state = state
        // Files of ids that are forgotten may be gone, and their numbers others' by now.
        _ = state.ids.takeForgottenFiles()
        let sealed = try load(&state, known, inventory)
        return Outcome(
            files: files, state: state, sealed: sealed, front: front, nextNumber: next, warnings: warnings, notes: notes
        )
    }

    private func entry(_ segment: LogSegment, end: Int, summary: Int) -> LogSegmentEntry {
        LogSegmentEntry(
            number: segment.number, file: segment.file, summary: summary, end: end, events: segment.index.events)
    }

    private func segment(_ source: LogSource) -> LogSegment {
        LogSegment(
            number: source.header.number, file: source.file, files: files, index: LogIndex(blockSize: options.blockSize)
        )
    }

    // MARK: The segments before

    /// Reads what each of the segments holds. One that is not there any more is left out.
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
                warnings.append("the segment \(entry.number) of the log in \(files.directory) is not there any more")
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
        guard let source = try inventory.source(entry) else { return nil }
        let segment = segment(source)
        if let index = try summary(of: segment, at: entry.summary) {
            segment.index = index
            // Where there is no summary, what is damaged is not counted in the first place.
            for (place, lost) in state.damaged where place.segment == entry.number {
                segment.index.lose(lost, at: place.offset)
            }
            return segment
        }
        let reading = try inventory.read(source, through: entry.end, known: entry.end)
        note(reading)
        for (frame, offset) in reading.survey.frames {
            reading.content(frame, offset).withUnsafeBytes { bytes in
                guard let group = try? LogGroup.Pieces(bytes, frame.kind) else { return }
                segment.index.add(group.stretch, at: offset..<offset + frame.size)
            }
        }
        return segment
    }

    /// - Parameter offset: 0 where there is none.
    private func summary(of segment: LogSegment, at offset: Int) throws(Fault) -> LogIndex? {
        guard offset > 0 else { return nil }
        let content = try Fault.of { () throws(DiskFault) in try segment.content(at: offset) }
        return content.flatMap { $0.withUnsafeBytes { try? LogIndex($0, blockSize: options.blockSize) } }
    }
}

extension LogRecovery.Fault {
    fileprivate var isNoRoom: Bool {
        if case .disk(let fault) = self { fault.isNoRoom } else { false }
    }

    /// Does work on the disk as a part of recovering.
    static func of<Value>(_ work: () throws(DiskFault) -> Value) throws(LogRecovery.Fault) -> Value {
        do { return try work() } catch { throw .disk(error) }
    }
}
