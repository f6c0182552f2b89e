import HeadgateCore

/// Carries out what is asked of an event store that keeps its events in a log, as the store's thread sees it.
final class LogEngine {
    /// The highest sequence number that was appended before the job at hand. What is appended behind it in the same turn may be there already.
    @exclusivity(unchecked) var lastAppended: SequenceNumber
    let log: SegmentLog
    /// Held for its lock.
    private let directory: DataDirectory
    @exclusivity(unchecked) private var copy: LogCopy?
    /// Whether it is time to look which segments are not needed any more.
    @exclusivity(unchecked) private var isReviewDue = true
    @exclusivity(unchecked) private var writesSinceReview = 0
    /// Whether so much was written that some of it should be synced while more is.
    @exclusivity(unchecked) private var isSyncDue = false
    @exclusivity(unchecked) private var areIDsDue = false
    @exclusivity(unchecked) private var isPaused = false

    /// What is settled may have freed a segment after so many writes that say so, or as many as there are segments: all are looked at.
    private static let leastWritesBetweenReviews = 64

    init(_ recovered: LogRecovery.Outcome, directory: DataDirectory, options: StoreOptions) {
        log = SegmentLog(recovered, options: options)
        lastAppended = recovered.state.lastSequenceNumber
        self.directory = directory
    }

    /// What has become of its segments.
    var counts: LogCounts { log.counts }

    // MARK: Events and changes

    /// Does appends and writes together, the first of them at least.
    /// - Returns: how many are done, each whole; where none could be, why.
    func commit(_ jobs: ArraySlice<StoreJob>) -> Result<Int, StoreFault> {
        let result = write(LogEntries(jobs: jobs, newest: log.state.lastSequenceNumber))
        if case .success(let count) = result { noteWrites(jobs.prefix(count)) }
        return result
    }

    /// Nothing is refused for want of room that is taken by what nobody needs.
    private func write(_ entries: some Sequence<LogEntry>) -> Result<Int, StoreFault> {
        let result = attempt { () throws(DiskFault) in try log.write(entries) }
        guard case .failure(let fault) = result else { return result }
        if log.isGone { return writeAgain(entries) }
        guard case .noRoom = fault, makesRoom() else { return result }
        return attempt { () throws(DiskFault) in try log.write(entries) }
    }

    /// The log's files were taken away. Writes into new ones, if there is a place for them.
    private func writeAgain(_ entries: some Sequence<LogEntry>) -> Result<Int, StoreFault> {
        do throws(StoreFault) { try directory.holdAgain() } catch { return .failure(error) }
        return attempt { () throws(DiskFault) in try log.write(entries) }
            .mapError { .failed("the log's files were taken away: \($0.message)") }
    }

    /// Gives up at once what is not needed any more and has waited for others to go with.
    /// - Returns: whether there was any.
    private func makesRoom() -> Bool {
        isReviewDue = true
        endCopy()
        repeat {
            guard case .success = attempt({ () throws(DiskFault) in try log.makeRoom() }) else { return false }
            // Retained events are dropped before anything is refused (Behaviour R1).
        } while log.isOutOfRoom && log.canGiveUpMore
        return !log.isOutOfRoom
    }

    /// A Boolean value that says whether appends and writes need not wait for the disk, mostly: nothing of them is synced.
    var writesAtOnce: Bool { log.options.durability != .full }

    /// Does appends and writes together, where that takes nothing but to write them.
    /// - Returns: false where none is done, since it takes more.
    func writeAtOnce(_ jobs: [StoreJob]) -> Bool {
        // What fails is tried again in the usual way, which says why.
        guard !log.isGone else { return false }
        let isDone = try? log.writeAtOnce(LogEntries(jobs: jobs[...], newest: log.state.lastSequenceNumber))
        guard isDone == true else { return false }
        noteWrites(jobs[...])
        return true
    }

    /// What came of work with the log.
    private func attempt<Value>(_ work: () throws(DiskFault) -> Value) -> Result<Value, StoreFault> {
        do throws(DiskFault) { return .success(try work()) } catch {
            return .failure(error.storeFault("the log cannot be written or read"))
        }
    }

    /// Sees what is to be done some time after these.
    private func noteWrites(_ jobs: ArraySlice<StoreJob>) {
        (isSyncDue, areIDsDue) = (log.front.isSyncDue, log.areIDsDue)
        writesSinceReview += jobs.count { $0.maySettle }
        // What is retained is reported, so that it is looked at more often.
        let least = log.state.retention == nil ? LogEngine.leastWritesBetweenReviews : 16
        let isMany = writesSinceReview >= max(least, log.state.segments.count) || jobs.contains(where: \.retains)
        guard isMany || writesSinceReview > 0 && log.isOutOfRoom else { return }
        (isReviewDue, writesSinceReview) = (true, 0)
    }

    // MARK: Reading

    /// Reads some events behind a sequence number, none behind ``lastAppended``.
    func read(after number: SequenceNumber) -> Result<Chunk?, StoreFault> {
        firstChunk(after: number) { $0.first <= lastAppended }
    }

    func readAged(_ stretch: AgedRange) -> Result<Chunk?, StoreFault> {
        firstChunk(after: stretch.after) { $0.first <= stretch.through && stretch.asksFor($0.ages) }
    }

    /// Takes a survey over about a MiB: those who wait for a commit do not wait for it for long.
    func take(_ survey: EventScan) -> Result<EventScan, StoreFault> {
        var (survey, bytes) = (survey, 0)
        while !survey.isOver, bytes < 1 << 20 {
            switch read(after: survey.position) {
            case .success(let chunk):
                survey.take(chunk)
                bytes += chunk?.bytes.count ?? 0
            case .failure(let fault): return .failure(fault)
            }
        }
        return .success(survey)
    }

    /// The events of the first block that is meant and holds any behind an event.
    private func firstChunk(
        after number: SequenceNumber, _ isMeant: (LogStretch) -> Bool
    ) -> Result<Chunk?, StoreFault> {
        attempt { () throws(DiskFault) in
            for segment in log.segments where segment.index.events.last > number {
                let first = segment.index.firstBlock(behind: number)
                for block in segment.index.blocks[first...] where isMeant(block.stretch) {
                    if let chunk = try chunk(block, of: segment, after: number) { return chunk }
                }
            }
            return nil
        }
    }

    private func chunk(
        _ block: LogBlock, of segment: LogSegment, after number: SequenceNumber
    ) throws(DiskFault) -> Chunk? {
        var records: [UInt8] = []
        var found = RouteTallies()
        do throws(DiskFault) {
            try segment.visitGroups(block) { group in
                let isMeant = group.stretch.last > number && group.stretch.last <= lastAppended
                guard !isMeant || group.records.append(to: &records) else { return }
                found += group.stretch.tallies
            }
        } catch {
            // A file that was taken away holds nothing any more. Any other fault may pass.
            guard error.isMissing, try log.hasLost(segment) else { throw error }
        }
        log.quarantine(block, found, of: segment)
        let last = min(block.stretch.last, lastAppended)
        return records.isEmpty ? nil : Chunk(bytes: records, lastSequenceNumber: last)
    }

    var letterTally: Tally { log.state.letters.tally }

    /// The dead letters that were reported last.
    @exclusivity(unchecked) var toldLetters = Tally.zero

    /// The bytes of the files that were reported last.
    @exclusivity(unchecked) var toldBytes = 0

    var diskBytes: Int { log.files.bytes }

    var retained: RetainedEvents { log.retained }

    /// The retained events that were reported last.
    @exclusivity(unchecked) var toldRetained = RetainedEvents.none

    func takeQuarantined() -> Int { log.takeQuarantined() }

    func takeRenewal() -> Int? { log.takeRenewal() }

    func takeDroppedLetters() -> [DispatcherNumber: Int] { log.takeDroppedLetters() }

    // MARK: Rewinding

    /// Makes a dispatcher's events unsettled again. A copy that is under way would leave them out, and is ended.
    func rewind(_ request: RewindRequest) -> Result<RewindOutcome, StoreFault> {
        endCopy()
        let result = attempt { () throws(DiskFault) in try log.rewind(request) }
        guard case .failure(.noRoom) = result, makesRoom() else { return result }
        return attempt { () throws(DiskFault) in try log.rewind(request) }
    }

    // MARK: Dead letters

    func readLetters(_ query: DeadLetterQuery) -> Result<LetterPage, StoreFault> {
        attempt { () throws(DiskFault) in
            var page = LetterPage(newest: log.state.letters.newest)
            var damaged: [LetterIndex.Entry] = []
            defer { log.quarantine(damaged) }
            for entry in log.state.letters.meant(by: query) {
                guard let letter = try log.letter(entry) else {
                    damaged.append(entry)
                    continue
                }
                guard page.take(StoredLetter(number: entry.number, letter: letter), query) else { break }
            }
            return page
        }
    }

    func purgeLetters(_ query: DeadLetterQuery) -> Result<Int, StoreFault> {
        let numbers = log.state.letters.meant(by: query).prefix(query.limit).map(\.number)
        guard !numbers.isEmpty else { return .success(0) }
        return write([.changes([.lettersGone(numbers)])]).map { _ in numbers.count }
    }

    // MARK: Chores

    /// Whether segments are being copied.
    var isCopying: Bool { copy != nil }

    var hasChores: Bool { !isPaused && (isSyncDue || isReviewDue || copy != nil || log.files.isShort || areIDsDue) }

    /// There are new jobs: what failed is tried again.
    func resumeChores() {
        isPaused = false
    }

    /// Does a small piece of what is left for later.
    func doSomeChores() {
        guard hasChores else { return }
        do throws(DiskFault) {
            if isSyncDue {
                isSyncDue = false
                try log.syncAhead()
            } else if isReviewDue, copy == nil || log.isOutOfRoom {
                isReviewDue = false
                endCopy()
                try log.makeRoom()
                copy = try LogCopy(log)
            } else if let copy {
                if try !copy.step() { self.copy = nil }
            } else if log.files.isShort {
                try log.files.makeReady()
            } else {
                // Last, since it takes room: on a full disk nothing that makes some may wait for it.
                areIDsDue = false
                try log.fileIDs()
            }
        } catch {
            // It is tried again with the next jobs, not over and over.
            endCopy()
            isPaused = true
        }
    }

    private func endCopy() {
        copy?.giveUp()
        copy = nil
    }

    /// Closes the log. Nothing more is asked of it.
    func finish() {
        endCopy()
        // What is not closed in order is written anew at the next start.
        try? log.close()
    }
}

extension StoreJob {
    /// Whether something may be needed no more when it is done. Events alone free nothing.
    fileprivate var maySettle: Bool {
        if case .append(let group, _) = self { group.hasExtras } else { true }
    }
}

extension StoreJob {
    /// A Boolean value that says whether the job sets the limits of retained events.
    fileprivate var retains: Bool {
        guard case .write(let changes, _) = self else { return false }
        return changes.contains { if case .retain(.some) = $0 { true } else { false } }
    }
}

/// What some jobs have written, one after the other.
private struct LogEntries: Sequence, IteratorProtocol {
    var jobs: ArraySlice<StoreJob>
    /// The newest event.
    let newest: SequenceNumber

    mutating func next() -> LogEntry? {
        while let job = jobs.popFirst() {
            if let entry = LogEntry(job, newest: newest) { return entry }
        }
        return nil
    }
}

extension LogEntry {
    /// Nil for what changes nothing.
    /// - Parameter newest: the newest event.
    fileprivate init?(_ job: StoreJob, newest: SequenceNumber) {
        switch job {
        case .append(let group, _): self = .group(group)
        case .write(let changes, _): self = .changes(changes.map { .asked($0.reaching(atMost: newest)) })
        case .ask, .close: return nil
        }
    }
}

extension StoreChange {
    /// What is not needed any more is so up to the newest event at most: nothing is said of what comes.
    fileprivate func reaching(atMost newest: SequenceNumber) -> StoreChange {
        if case .trim(let through) = self { .trim(through: min(through, newest)) } else { self }
    }
}
