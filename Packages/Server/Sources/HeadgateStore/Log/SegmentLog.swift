import Glibc
import HeadgateCore

/// The log of a data directory, as its thread sees it: a chain of segments, of which the last is written to, and the state that
/// all that was written makes (Behaviour Q1).
///
/// What each commit touches is not checked for exclusive access at run time, here and in what belongs to it: nothing that is called
/// with it knows the log.
final class SegmentLog {
    let options: StoreOptions
    @exclusivity(unchecked) private(set) var files: LogFiles
    @exclusivity(unchecked) private(set) var state: LogState
    /// The segments that are written no more, by number.
    @exclusivity(unchecked) private(set) var sealed: [UInt64: LogSegment]
    @exclusivity(unchecked) private(set) var front: LogFront
    private var nextNumber: UInt64
    /// Files that nobody needs once what says so is on the disk.
    private var void: [LogFile] = []
    /// Ids on their way to a file of their own.
    private var filing: LogIDs.Filing?
    /// The retained events, as of the last look.
    private(set) var retained = RetainedEvents.none
    /// True if giving up retained events would make room on the disk, as of the last look.
    private(set) var canGiveUpMore = false
    /// Nobody knows what of the front is on the disk.
    @exclusivity(unchecked) private(set) var isBroken = false
    /// The file that is written to, or a directory above it, was taken away while the daemon runs.
    @exclusivity(unchecked) private(set) var isGone = false
    /// The number of events that were lost when the log was begun anew, until somebody is told.
    private var renewal: Int?
    private(set) var counts = LogCounts()
    /// Events that were found damaged, and of which nobody has been told.
    @exclusivity(unchecked) private var quarantinedEvents = 0
    /// Dead letters that had to make room for newer ones, by dispatcher, and of which nobody has been told.
    @exclusivity(unchecked) private var droppedLetters: [DispatcherNumber: Int] = [:]

    init(_ recovered: LogRecovery.Outcome, options: StoreOptions) {
        self.options = options
        (files, state, sealed) = (recovered.files, recovered.state, recovered.sealed)
        (front, nextNumber) = (recovered.front, recovered.nextNumber)
    }

    // MARK: Writing

    /// Writes what is asked for, as far as it fits into the segment.
    /// - Returns: how many of the entries are written; at least one.
    func write(_ entries: some Sequence<LogEntry>) throws(DiskFault) -> Int {
        do throws(DiskFault) { return try writeInPlace(entries) } catch {
            // A file or a directory that the log needs was taken away: the next write goes on with new ones.
            if error.isMissing { isGone = true }
            throw error
        }
    }

    private func writeInPlace(_ entries: some Sequence<LogEntry>) throws(DiskFault) -> Int {
        try mend()
        if !front.hasRoom() { try roll(for: 0) }
        var (laid, misfit) = lay(entries)
        if laid.isEmpty, let misfit {
            let size = size(of: misfit)
            try roll(for: misfit.isGroup ? size + min(size, LogReserve.most(options)) : size)
            laid = [LaidEntry(entry: misfit, range: lay(misfit))]
        }
        try write(laid)
        return laid.count
    }

    /// Writes all of what is asked for, where that takes nothing but to write it: nothing has to be synced or mended, and no segment to be
    /// begun.
    /// - Returns: false where it takes more; then nothing is written.
    func writeAtOnce(_ entries: some Sequence<LogEntry>) throws(DiskFault) -> Bool {
        guard options.durability != .full, !isBroken, front.hasRoom() else { return false }
        let mark = front.mark
        let (laid, misfit) = lay(entries)
        guard misfit == nil else {
            front.takeBack(to: mark)
            return false
        }
        try write(laid)
        return true
    }

    /// Lays entries up to the first for which there is no room.
    private func lay(_ entries: some Sequence<LogEntry>) -> (laid: [LaidEntry], misfit: LogEntry?) {
        var laid: [LaidEntry] = []
        var newestLetter = state.letters.newest
        for entry in entries {
            let entry = entry.numbered(behind: &newestLetter)
            let mark = front.mark
            let range = lay(entry)
            guard hasRoom(for: entry) else {
                front.takeBack(to: mark)
                return (laid, entry)
            }
            laid.append(LaidEntry(entry: entry, range: range))
        }
        return (laid, nil)
    }

    private func lay(_ entry: LogEntry) -> Range<Int> { front.lay(entry, packedFrom: options.leastPacked) }

    /// Bytes that an entry takes at most, with nothing packed.
    private func size(of entry: LogEntry) -> Int {
        let mark = front.mark
        defer { front.takeBack(to: mark) }
        return front.lay(entry, packedFrom: .max).count
    }

    /// Writes what was laid. From then on it counts.
    private func write(_ laid: [LaidEntry]) throws(DiskFault) {
        try write(
            synced: options.durability == .full && laid.contains { $0.entry.isGroup },
            isReplacement: laid.contains { $0.entry.isReplacement })
        for laid in laid { apply(laid.entry, at: laid.range) }
    }

    /// What is left for changes where the next segment has no file yet.
    private var reserve: LogReserve? { files.isReady ? nil : LogReserve(in: front.segment.file, options) }

    /// Whether there is no file for the next segment, and no room for one.
    var isOutOfRoom: Bool { files.isOutOfRoom && !files.isReady }

    /// Whether there is room for an entry that has been laid.
    private func hasRoom(for entry: LogEntry) -> Bool {
        guard let reserve else { return front.hasRoom() }
        return front.hasRoom(beside: reserve.left(by: entry.claim))
            || front.hasRoom(beside: reserve.left(by: entry.claim, makesRoom: true)) && makesRoom(entry)
    }

    /// Returns true if there is room for another file once an entry is written, or if only the segment that is written to is needed then.
    /// Segments that were not needed before do not count, because they are dropped already, and nor do retained events, which are dropped
    /// when there is no room (Behaviour R1).
    private func makesRoom(_ entry: LogEntry) -> Bool {
        guard case .changes(let changes) = entry else { return false }
        let now = state.withoutRetained
        var next = now
        next.apply(changes, in: front.segment.place(front.next))
        let unneeded = (before: unneeded(now, except: standIn), then: unneeded(next, except: standIn))
        let bytes = unneeded.then.map(\.file.size).reduce(0, +) - unneeded.before.map(\.file.size).reduce(0, +)
        return bytes >= options.leastSegmentSize || bytes > 0 && unneeded.then.count == next.segments.count
    }

    private func write(synced: Bool, isReplacement: Bool = false) throws(DiskFault) {
        do throws(DiskFault) { try front.write(synced: synced) } catch {
            // A sync that failed may have lost what was written long before it, and another one says nothing of that. And that
            // a copy stands for its sources may be there all the same, for the next start to believe.
            if synced || isReplacement { isBroken = true }
            throw error
        }
        // What is written to a file without a name is gone with the process, so that it must not be acknowledged.
        guard !isInPlace else { return }
        isGone = true
        throw .gone
    }

    private var isInPlace: Bool {
        (try? front.segment.open())?.isStill(at: files.path(front.segment.file.number)) ?? false
    }

    private func apply(_ entry: LogEntry, at range: Range<Int>) {
        switch entry {
        case .group(let group):
            let stretch = LogGroup.stretch(of: group)
            state.apply(stretch)
            if group.hasExtras { state.apply(LogExtras(group)) }
            front.segment.index.add(stretch, at: range)
        case .changes(let changes):
            let place = front.segment.place(range.lowerBound)
            droppedLetters.add(state.apply(changes, in: place))
        }
    }

    /// Sees to it that all that was written is on the disk.
    func sync() throws(DiskFault) {
        try mend()
        do throws(DiskFault) { try front.sync() } catch {
            isBroken = true
            throw error
        }
    }

    /// Begins to bring onto the disk what was written, while more is.
    func syncAhead() throws(DiskFault) {
        do throws(DiskFault) { try front.syncAhead() } catch {
            isBroken = true
            throw error
        }
    }

    /// The daemon stops in order: all is on the disk, and nothing has to be written anew at the next start.
    func close() throws(DiskFault) {
        try sync()
        try front.close()
    }

    /// Goes on with what is on the disk beyond doubt, and writes the rest anew, as a start does.
    func mend() throws(DiskFault) {
        if isGone { try renew() }
        guard isBroken else { return }
        let (segment, end) = (front.segment, front.segment.place(front.end))
        var recovery = LogRecovery(
            options, written: .init(end: end, certain: front.certain, given: state.lastSequenceNumber))
        let recovered: LogRecovery.Outcome
        do throws(LogRecovery.Fault) { recovered = try recovery.run() } catch {
            if case .disk(let fault) = error { throw fault }
            guard case .gone = error, !isInPlace else { throw DiskFault(code: EIO) }
            return try renew()
        }
        (files, state, sealed, front) = (recovered.files, recovered.state, recovered.sealed, recovered.front)
        nextNumber = max(nextNumber, recovered.nextNumber)
        (void, filing, isBroken) = ([], nil, false)
        let left = (sealed[segment.number]?.index.count ?? 0) + front.segment.index.count
        quarantinedEvents += max(0, segment.index.count - left)
        counts.recovered += 1
    }

    // MARK: Files that were taken away

    /// Goes on in a new segment where files were taken away, with all that is known beside the events. What these files held
    /// is lost, and counted.
    private func renew() throws(DiskFault) {
        try options.disk.makeDirectory(options.logDirectory)
        try options.disk.syncDirectory(options.directory)
        let files = LogFiles(options)
        _ = try files.list()
        let gone = state.segments.filter { !files.isThere($0.file.number) }
        // A front that is still there is a segment like the others from now on.
        let kept = isInPlace ? try seal() : nil
        var next = state
        let former = kept == nil ? [front.segment.number] : []
        next.lose(gone.map(\.number) + former, andFilesOfIDs: { !files.isThere($0.number) })
        if let kept { next.segments.append(kept) }
        let file = try files.take(atLeast: LogFront.size(for: next))
        let number = takeNumber()
        let header = LogHeader(
            use: .front, number: number, previous: kept?.number ?? 0, previousEnd: kept?.end ?? 0)
        let index = LogIndex(blockSize: options.blockSize)
        let new = LogFront(LogSegment(number: number, file: file, files: files, index: index), header, next)
        try new.begin(synced: true)
        let indexes = gone.map { self.index(of: $0) } + (kept == nil ? [front.segment.index] : [])
        let needed = state.needed
        renewal = (renewal ?? 0) + indexes.reduce(0) { $0 + needed.events(of: $1) }
        if kept != nil {
            front.segment.seal()
            sealed[front.segment.number] = front.segment
        }
        (self.files, state, front) = (files, next, new)
        (void, filing, isBroken, isGone) = ([], nil, false, false)
        dropForgotten()
        counts.recovered += 1
    }

    /// Returns true if a segment's file is not there any more. Where the whole log was taken away, it is begun anew first.
    func hasLost(_ segment: LogSegment) throws(DiskFault) -> Bool {
        if !isInPlace { isGone = true }
        try mend()
        return !files.isThere(segment.file.number)
    }

    func takeRenewal() -> Int? {
        defer { renewal = nil }
        return renewal
    }

    // MARK: The next segment

    /// Ends the segment that is written to, and begins another.
    /// - Parameter need: bytes that it has to have room for.
    private func roll(for need: Int) throws(DiskFault) {
        let file = try files.take(atLeast: LogFront.size(for: state) + need)
        // A number is used once, also where the segment does not come to be one.
        let number = takeNumber()
        do throws(DiskFault) {
            try fileIDsForSnapshot()
            let entry = try seal()
            var next = state
            next.segments.append(entry)
            let voided = unneeded(next, except: entry.number)
            for entry in voided { next.forget(entry.number) }
            let forgotten = next.ids.takeForgottenFiles().map(\.file)
            let header = LogHeader(use: .front, number: number, previous: entry.number, previousEnd: entry.end)
            let front = LogFront(segment(number, file), header, next)
            try front.begin(synced: false)
            begin(front, next, voided.map(\.file) + forgotten)
        } catch {
            files.free(file)
            throw error
        }
    }

    /// - Parameter voided: what is needed no more as soon as the new segment is on the disk.
    private func begin(_ new: LogFront, _ next: LogState, _ voided: [LogFile]) {
        // Whatever made these void lies before the summary, which is synced.
        for file in void { files.free(file) }
        void = voided
        front.segment.seal()
        sealed[front.segment.number] = front.segment
        (front, state) = (new, next)
        counts.begun += 1
        dropForgotten()
    }

    /// Nothing comes behind what there is.
    private func seal() throws(DiskFault) -> LogSegmentEntry {
        do throws(DiskFault) { return try front.seal() } catch {
            isBroken = true
            throw error
        }
    }

    /// Whether ids should get a file of their own before the next segment is begun, which would take long with all of them.
    var areIDsDue: Bool {
        !isBroken && !isOutOfRoom && (filing != nil || state.ids.recentBytes >= 4 * options.mostUnfiledIDBytes)
    }

    /// A file of ids as large as a segment would be written in so many steps: 64 KiB each, by default.
    private static let filingSteps = 128

    /// Gives ids a file of their own, bit by bit. The next segment says that there is one; a start before that has them from this segment,
    /// and does not know the file.
    func fileIDs() throws(DiskFault) {
        guard var written = filing, !written.isWritten else { return try filing == nil ? beginFiling() : endFiling() }
        let step = options.segmentSize / SegmentLog.filingSteps
        do throws(DiskFault) { try written.step(step) } catch { throw giveUpFiling(error) }
        filing = written
    }

    /// Ids get a file of their own when they are many.
    private func beginFiling() throws(DiskFault) {
        guard state.ids.recentBytes >= options.mostUnfiledIDBytes else { return }
        let header = LogHeader(use: .ids, number: takeNumber(), previous: 0, previousEnd: 0)
        filing = try state.ids.beginFile(in: files, under: header, packedFrom: options.leastPacked)
    }

    private func endFiling() throws(DiskFault) {
        guard var ended = filing else { return }
        do throws(DiskFault) { try ended.end() } catch { throw giveUpFiling(error) }
        filing = nil
        files.note(ended.file)
        state.ids.filed(ended)
    }

    private func giveUpFiling(_ fault: DiskFault) -> DiskFault {
        if let filing { files.free(LogFile(number: filing.file.number, size: 0)) }
        filing = nil
        return fault
    }

    /// All files of ids are there to stay, so that a snapshot may say so. Without room for another, ids are in the snapshot: there is room
    /// for them in the segment's file.
    private func fileIDsForSnapshot() throws(DiskFault) {
        do throws(DiskFault) {
            try endFiling()
            try beginFiling()
            try endFiling()
        } catch { guard error.isNoRoom else { throw error } }
        try files.syncNames()
    }

    func takeNumber() -> UInt64 {
        defer { nextNumber += 1 }
        return nextNumber
    }

    // MARK: Making room

    /// The segments that hold nothing that anybody needs.
    private func unneeded(_ state: LogState, except previous: UInt64) -> [LogSegmentEntry] {
        let needed = state.needed
        return state.segments.filter { $0.number != previous && !needed.contains($0.number, index(of: $0)) }
    }

    /// The index of a segment.
    func index(of entry: LogSegmentEntry) -> LogIndex { (sealed[entry.number] ?? front.segment).index }

    func segment(_ number: UInt64, _ file: LogFile) -> LogSegment {
        LogSegment(number: number, file: file, files: files, index: LogIndex(blockSize: options.blockSize))
    }

    /// The segment before the one that is written to: it could stand in for it, and stays. 0 where there is no room: then that one has to do
    /// by itself, which is synced before anything is given back.
    private var standIn: UInt64 { isOutOfRoom ? 0 : state.segments.last?.number ?? 0 }

    /// Takes out segments that nobody needs, and gives their files back once it is on the disk that nobody does.
    func makeRoom() throws(DiskFault) {
        try mend()
        var unneeded = unneeded(state, except: standIn)
        let isFull = isOutOfRoom && unneeded.isEmpty && void.isEmpty
        if try giveUpRetained(isFull: isFull) { unneeded = self.unneeded(state, except: standIn) }
        if !unneeded.isEmpty {
            _ = try write([.changes([.forgotten(unneeded.map(\.number))])])
            drop(unneeded.map(\.file))
            counts.forgotten += unneeded.count
            dropForgotten()
        }
        void += state.ids.takeForgottenFiles().map(\.file)
        let bytes = void.reduce(0) { $0 + $1.size }
        guard bytes >= 2 * options.segmentSize || bytes > 0 && isOutOfRoom else { return }
        try sync()
        for file in void { files.free(file) }
        void = []
    }

    /// Gives up retained events beyond their limits, the oldest first, and more of them on a full disk (Behaviour R1).
    /// - Returns: true if some were given up.
    private func giveUpRetained(isFull: Bool) throws(DiskFault) -> Bool {
        guard let retention = state.retention else {
            (retained, canGiveUpMore) = (.none, false)
            return false
        }
        var look = RetentionLook(retention, state)
        for segment in segments.reversed() where segment.index.events.last > state.givenUpThrough {
            look.take(segment.index, isFreed: segment !== front.segment)
        }
        (retained, canGiveUpMore) = (look.retained, look.cut.throughOnFullDisk != nil)
        let through = isFull ? look.cut.throughOnFullDisk ?? look.cut.through : look.cut.through
        guard let through, through > state.givenUpThrough else { return false }
        _ = try write([.changes([.givenUp(through: through)])])
        return true
    }

    /// Notes files that nobody needs any more. A segment that was begun meanwhile may have done so already.
    private func drop(_ files: [LogFile]) {
        void += files.filter { !void.contains($0) }
    }

    private func dropForgotten() {
        let known = Set(state.segments.map(\.number))
        sealed = sealed.filter { known.contains($0.key) }
    }

    /// What was still needed of some segments lies in another now, which is on the disk.
    /// - Returns: false where one of them is not there any more: then nothing is to stand for them.
    func replace(
        _ numbers: [UInt64], by copy: LogSegment, _ entry: LogSegmentEntry, letters: [LetterNumber: LetterPlace]
    ) throws(DiskFault) -> Bool {
        let change = LogEntry.changes([.replaced(numbers, by: entry, letters: letters)])
        // The next segment is begun before: some of them may go with that, and the copy is not one of the log's yet.
        try makeRoom(for: change)
        let old = state.segments.filter { numbers.contains($0.number) }.map(\.file)
        guard old.count == numbers.count else { return false }
        _ = try write([change])
        sealed[copy.number] = copy
        drop(old)
        counts.copied += old.count
        dropForgotten()
        return true
    }

    /// Begins the next segment, unless there is room for an entry.
    private func makeRoom(for entry: LogEntry) throws(DiskFault) {
        try mend()
        let mark = front.mark
        let need = lay(entry).count
        let hasRoom = front.hasRoom()
        front.takeBack(to: mark)
        if !hasRoom { try roll(for: need) }
    }

    // MARK: Damage

    /// What a block should hold and does not is damaged (Behaviour Q8). Who read it may have had it for long: what was missed of it since
    /// is not missed again.
    /// - Parameter found: what of it is sound.
    func quarantine(_ block: LogBlock, _ found: RouteTallies, of segment: LogSegment) {
        // Behind a mend segments are others, which know again of all that their summaries say.
        guard (try? mend()) != nil, let segment = sealed[segment.number] ?? (segment === front.segment ? segment : nil),
            let held = segment.index.present(block)?.stretch.tallies
        else { return }
        let lost = held - found
        guard !lost.isEmpty else { return }
        quarantinedEvents += lost.total.events
        let offset = block.range.lowerBound
        if let bytes = try? segment.read(block.range) { files.putAside(bytes, as: "\(segment.number)-\(offset)") }
        segment.index.lose(lost, at: offset)
        // The summary of the segment that is written to will say so. Where it cannot be written down it is found again at the next start.
        guard segment !== front.segment else { return }
        _ = try? write([.changes([.damaged(segment.place(offset), lost: lost)])])
    }

    /// Letters are damaged: they are letters no more.
    func quarantine(_ letters: [LetterIndex.Entry]) {
        guard !letters.isEmpty else { return }
        quarantinedEvents += letters.count
        _ = try? write([.changes([.lettersGone(letters.map(\.number))])])
    }

    func takeQuarantined() -> Int {
        defer { quarantinedEvents = 0 }
        return quarantinedEvents
    }

    func takeDroppedLetters() -> [DispatcherNumber: Int] {
        guard !droppedLetters.isEmpty else { return [:] }
        defer { droppedLetters = [:] }
        return droppedLetters
    }

    // MARK: Reading

    /// All segments, by the events that they hold.
    var segments: [LogSegment] { state.segments.compactMap { sealed[$0.number] } + [front.segment] }

    /// What a frame holds; nil where it is damaged, or its file was taken away.
    private func content(of segment: LogSegment, at offset: Int) throws(DiskFault) -> [UInt8]? {
        do throws(DiskFault) { return try segment.content(at: offset) } catch {
            guard error.isMissing, try hasLost(segment) else { throw error }
            return nil
        }
    }

    /// A dead letter; nil where it is damaged.
    func letter(_ entry: LetterIndex.Entry) throws(DiskFault) -> DeadLetter? {
        let frame = entry.place.frame
        let segment = frame.segment == front.segment.number ? front.segment : sealed[frame.segment]
        guard let segment, let content = try content(of: segment, at: frame.offset) else { return nil }
        return content.withUnsafeBytes { bytes in
            var reader = LogReader(bytes)
            let changes = try? reader.takeAll { (reader) throws(LogReader.Unsound) in try LogChange(&reader) }
            guard let changes, entry.place.index < changes.count else { return nil }
            return changes[entry.place.index].letter
        }
    }
}

/// What a log has done with its segments since it was opened.
struct LogCounts: Equatable {
    var begun = 0
    /// Given up since nobody needed them.
    var forgotten = 0
    /// Given up since what was needed of them lies in another.
    var copied = 0
    /// How often a sync failed, and what is not certain was written anew.
    var recovered = 0
}
