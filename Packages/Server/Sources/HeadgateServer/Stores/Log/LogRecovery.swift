import HeadgateCore

/// Finds out what the files of a log say, and sees to it that all of it is on the disk, beyond doubt, before anything relies
/// on it.
///
/// What the end of the log says may have never reached the disk, though it can be read: a daemon that was killed had not synced
/// it, or a sync failed. So it is written anew, into a segment of its own that begins with all that is beyond doubt.
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
    }

    /// Why a log could not be recovered.
    enum Fault: Error {
        case disk(DiskFault)
        /// A newer daemon wrote it.
        case newer(String)
        /// There is a log, and nothing that one could begin with.
        case damaged(String)
    }

    /// A file that says that it is a segment of the front.
    private struct Source {
        var file: LogFile
        var header: LogHeader
    }

    private let options: StoreOptions
    /// Behind this nothing counts; nil where all does that can be read.
    private let limit: LogPlace?
    private let files: LogFiles
    private var warnings: [String] = []
    /// Files that were written to, and say nothing any more of what they are.
    private var unreadable: [LogFile] = []
    /// Those of them that the rest of the log knows nothing of.
    private var lost: [LogFile] = []

    init(_ options: StoreOptions, through limit: LogPlace? = nil) {
        (self.options, self.limit) = (options, limit)
        files = LogFiles(options.logDirectory, on: options.disk, segmentSize: options.segmentSize)
    }

    /// - Parameter founding: what a log begins with that is begun here.
    mutating func run(_ founding: Founding = Founding()) throws(Fault) -> Outcome {
        let all = try Fault.of { () throws(DiskFault) in try files.list() }
        let (sources, newest) = try headers(all)
        guard let chain = try chain(sources) else {
            guard sources.isEmpty, unreadable.isEmpty else {
                throw .damaged("no segment of it can be read from its beginning")
            }
            return try begin(founding, number: newest + 1)
        }
        var replay = try replay(chain)
        let known = Set(replay.state.segments.map(\.file) + replay.state.ids.files.map(\.file))
        lost = unreadable.filter { !known.contains($0) }
        if !lost.isEmpty { replay.state.lastSequenceNumber = max(replay.state.lastSequenceNumber, options.numberAhead) }
        let outcome = try finish(replay, number: newest + 1)
        let used = Set(
            outcome.state.segments.map(\.file.number) + outcome.state.ids.files.map(\.file.number)
                + [outcome.front.segment.file.number])
        for file in all where !used.contains(file.number) && !lost.contains(file) { files.free(file) }
        return try setAside(outcome)
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

    // MARK: What there is

    private mutating func headers(_ all: [LogFile]) throws(Fault) -> (front: [Source], newest: UInt64) {
        var (front, newest): ([Source], UInt64) = ([], 0)
        for file in all {
            let bytes = try Fault.of { () throws(DiskFault) in try files.open(file.number).read(0..<LogHeader.size) }
            switch bytes.withUnsafeBytes(LogHeader.read) {
            case .none:
                // A header is written last, and at once: where there is something else there was one.
                if bytes.contains(where: { $0 != 0 }) { unreadable.append(file) }
            case .newer(let version):
                throw .newer(
                    "\(files.path(file.number)) was written by a newer headgated (version \(version), "
                        + "this one knows \(LogHeader.version)); it was left as it is")
            case .header(let header):
                newest = max(newest, header.number)
                if header.use == .front { front.append(Source(file: file, header: header)) }
            }
        }
        return (front, newest)
    }

    /// What a segment of the front says.
    private struct Reading {
        var source: Source
        var bytes: [UInt8]
        var survey: LogSurvey

        func content(_ frame: LogFrame, _ offset: Int) -> ArraySlice<UInt8> {
            let begin = offset - LogHeader.size + LogFrame.headerSize
            return bytes[begin..<begin + frame.length]
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

    /// - Parameter end: where it ends at the latest.
    private func read(_ source: Source, through end: Int) throws(Fault) -> Reading {
        let bytes = try Fault.of { () throws(DiskFault) in
            try files.open(source.file.number).read(LogHeader.size..<max(source.file.size, LogHeader.size))
        }
        let survey = bytes.withUnsafeBytes { bytes in
            let start = LogPlace(segment: source.header.number, offset: LogHeader.size)
            return LogSurvey(
                LogScan(bytes, from: start, behind: source.header.checksum), from: LogHeader.size, through: end)
        }
        return Reading(source: source, bytes: bytes, survey: survey)
    }

    /// The newest segment that begins with a state, and those behind it whose own is damaged; nil where there is none.
    private func chain(_ sources: [Source]) throws(Fault) -> [Reading]? {
        var chain: [Reading] = []
        for source in sources.sorted(by: { $0.header.number > $1.header.number }) {
            if let limit, source.header.number > limit.segment { continue }
            let end = chain.first.map(\.source.header.previousEnd) ?? limit?.offset ?? .max
            if let next = chain.first, next.source.header.previous != source.header.number { continue }
            let reading = try read(source, through: end)
            if reading.snapshot != nil { return [reading] + chain }
            // One that was begun when the power went says nothing. One that had been on the disk does.
            if reading.survey.certain > LogHeader.size { chain.insert(reading, at: 0) }
        }
        return nil
    }

    // MARK: What it says

    /// What frames make, one behind the other.
    private struct Replay {
        var state: LogState
        var tail: LogSegment
        var reading: Reading
        /// What is not beyond doubt on the disk.
        var doubtful: ArraySlice<(frame: LogFrame, offset: Int)>
    }

    private mutating func replay(_ chain: [Reading]) throws(Fault) -> Replay {
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
            note(reading.survey.damaged, of: segment)
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
                    let group = try LogGroup.Pieces(bytes)
                    state.apply(group.stretch, try LogExtras(group.extras))
                    segment.index.add(group.stretch, at: offset..<offset + frame.size)
                case .changes:
                    var reader = LogReader(bytes)
                    let changes = try reader.takeAll { (reader) throws(LogReader.Unsound) in try LogChange(&reader) }
                    state.apply(changes, in: segment.place(offset), bounds: options.letterBounds)
                case .snapshot, .summary, .closed, .ids: break
                }
            }
        } catch {
            throw .damaged("a frame of it is not what it says")
        }
    }

    private mutating func note(_ damaged: [Range<Int>], of segment: LogSegment) {
        for range in damaged {
            warnings.append(
                "\(range.count) bytes of \(files.path(segment.file.number)) at \(range.lowerBound) are damaged "
                    + "and left out")
        }
    }

    // MARK: Going on

    private mutating func finish(_ replay: Replay, number: UInt64) throws(Fault) -> Outcome {
        if limit == nil, lost.isEmpty, let last = replay.reading.survey.frames.last, last.frame.kind == .closed,
            replay.doubtful.isEmpty || replay.doubtful.first?.offset == last.offset
        {
            // Where another segment could not be begun, this one has its summary already.
            let summary = replay.reading.survey.frames.last { $0.frame.kind == .summary }
            let front = LogFront(
                replay.tail, replay.reading.source.header, end: last.offset, last: last.frame.previous,
                summary: summary?.offset ?? 0)
            return try outcome(replay.state, front, next: number)
        }
        return try rewrite(replay, number: number)
    }

    private mutating func rewrite(_ replay: Replay, number: UInt64) throws(Fault) -> Outcome {
        var state = replay.state
        let end = replay.reading.survey.certain
        let old = entry(replay.tail, end: end, summary: 0)
        if !replay.tail.index.blocks.isEmpty || state.letters.bytes(in: old.number) > 0 {
            state.segments.append(old)
        }
        let carried = replay.doubtful.filter { $0.frame.kind == .group || $0.frame.kind == .changes }
        let need = LogFront.size(for: state) + carried.reduce(0) { $0 + $1.frame.size + 1_024 }
        let header = LogHeader(use: .front, number: number, previous: old.number, previousEnd: end)
        let front = try front(header, atLeast: need, state)
        for (frame, offset) in carried {
            let content = replay.reading.content(frame, offset)
            let range = front.lay(frame.kind) { $0.putRest(Array(content)) }
            try apply(frame, content, at: range.lowerBound, of: front.segment, to: &state)
        }
        try Fault.of { () throws(DiskFault) in try front.begin(synced: true) }
        return try outcome(state, front, known: replay.tail, next: number + 1)
    }

    private mutating func begin(_ founding: Founding, number: UInt64) throws(Fault) -> Outcome {
        let state = LogState(founding)
        let header = LogHeader(use: .front, number: number, previous: 0, previousEnd: 0)
        let front = try front(header, atLeast: LogFront.size(for: state), state)
        try Fault.of { () throws(DiskFault) in try front.begin(synced: true) }
        return try outcome(state, front, next: number + 1)
    }

    /// A segment that begins with a state, in a file of its own: one that was used before may be needed after all, if the power
    /// goes now.
    private func front(_ header: LogHeader, atLeast size: Int, _ state: LogState) throws(Fault) -> LogFront {
        let file = try Fault.of { () throws(DiskFault) in try files.take(atLeast: size) }
        return LogFront(segment(Source(file: file, header: header)), header, state)
    }

    /// - Parameter known: a segment that has been read already.
    private mutating func outcome(
        _ state: LogState, _ front: LogFront, known: LogSegment? = nil, next: UInt64
    ) throws(Fault) -> Outcome {
        var state = state
        // Files of ids that are forgotten may be gone, and their numbers others' by now.
        _ = state.ids.takeForgottenFiles()
        let sealed = try load(&state, known)
        return Outcome(
            files: files, state: state, sealed: sealed, front: front, nextNumber: next, warnings: warnings)
    }

    private func entry(_ segment: LogSegment, end: Int, summary: Int) -> LogSegmentEntry {
        LogSegmentEntry(
            number: segment.number, file: segment.file, summary: summary, end: end, events: segment.index.events)
    }

    private func segment(_ source: Source) -> LogSegment {
        LogSegment(
            number: source.header.number, file: source.file, files: files, index: LogIndex(blockSize: options.blockSize)
        )
    }

    // MARK: The segments before

    /// Reads what each of the segments holds. One that is not there any more is left out.
    private mutating func load(
        _ state: inout LogState, _ known: LogSegment?
    ) throws(Fault) -> [UInt64: LogSegment] {
        var sealed: [UInt64: LogSegment] = [:]
        for entry in state.segments {
            let isKnown = entry.number == known?.number
            guard let segment = isKnown ? known : try load(entry) else {
                warnings.append("the segment \(entry.number) of the log in \(files.directory) is not there any more")
                state.forget(entry.number)
                continue
            }
            for (place, lost) in state.damaged where place.segment == entry.number {
                segment.index.lose(lost, at: place.offset)
            }
            sealed[entry.number] = segment
        }
        return sealed
    }

    private mutating func load(_ entry: LogSegmentEntry) throws(Fault) -> LogSegment? {
        guard files.isThere(entry.file.number) else { return nil }
        // What cannot be read now may be read later: it is not given up for that.
        let bytes = try Fault.of { () throws(DiskFault) in
            try files.open(entry.file.number).read(0..<LogHeader.size)
        }
        let header: LogHeader
        switch bytes.withUnsafeBytes(LogHeader.read) {
        case .header(let found) where found.number == entry.number: header = found
        case .none where unreadable.contains(entry.file):
            // Each frame says by itself whose it is.
            header = LogHeader(use: .copy, number: entry.number, previous: 0, previousEnd: 0)
        case .header, .newer, .none: return nil
        }
        let segment = segment(Source(file: entry.file, header: header))
        if let index = try summary(of: segment, at: entry.summary) {
            segment.index = index
            return segment
        }
        let reading = try read(Source(file: entry.file, header: header), through: entry.end)
        for (frame, offset) in reading.survey.frames where frame.kind == .group {
            reading.content(frame, offset).withUnsafeBytes { bytes in
                guard let group = try? LogGroup.Pieces(bytes) else { return }
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
    /// Does work on the disk as a part of recovering.
    static func of<Value>(_ work: () throws(DiskFault) -> Value) throws(LogRecovery.Fault) -> Value {
        do { return try work() } catch { throw .disk(error) }
    }
}
