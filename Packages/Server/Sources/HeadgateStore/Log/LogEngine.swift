import HeadgateCore
import HeadgateEncryption

/// The engine of the store: it carries out jobs on a log, and does the background work that they leave. Its owner is one thread
/// at a time (``EngineOwnership``).
final class LogEngine {
    /// The highest sequence number that was appended before the present job. Events of later jobs of the same turn may
    /// be in the log already.
    @exclusivity(unchecked) var lastAppended: SequenceNumber
    let log: SegmentLog
    @exclusivity(unchecked) private var copy: LogCopy?
    /// The removal of the bytes of erased events.
    @exclusivity(unchecked) private var erasure: LogErasure?
    /// True if the segments should be reviewed, because some of them may not be needed any more.
    @exclusivity(unchecked) private var isReviewDue = true
    @exclusivity(unchecked) private var writesSinceReview = 0
    /// True if so much was written that a background sync should begin.
    @exclusivity(unchecked) private var isSyncDue = false
    @exclusivity(unchecked) private var areIDsDue = false
    @exclusivity(unchecked) private var isPaused = false
    /// The sizes that were reported last.
    @exclusivity(unchecked) var reportedSizes = StoreSizes()
    /// The rewriting of files under another key.
    @exclusivity(unchecked) private var rekey: LogRekey?
    @exclusivity(unchecked) private var isRekeyDue = false
    @exclusivity(unchecked) private var reportedKeys: KeyFacts?

    /// The number of writes with settlements after which the segments are reviewed. With more segments than this, their
    /// number counts.
    private static let leastWritesBetweenReviews = 64

    init(_ recovered: LogRecovery.Outcome, directory: DataDirectory, options: StoreOptions) {
        log = SegmentLog(recovered, options: options, in: directory)
        lastAppended = recovered.state.lastSequenceNumber
        isRekeyDue = needsRekey
    }

    /// The number of segments that were begun, dropped and copied.
    var counts: LogCounts { log.counts }

    // MARK: Events and changes

    /// Commits appends and writes together, the first of them at least.
    /// - Returns: the number of whole jobs that are done, or the reason why none is.
    func commit(_ jobs: ArraySlice<StoreJob>) -> Result<Int, StoreFault> {
        let result = write(LogEntries(jobs: jobs, newest: log.state.lastSequenceNumber))
        if case .success(let count) = result { noteWrites(jobs.prefix(count)) }
        return result
    }

    /// Writes entries. If the log's files were removed, it writes the entries into new files.
    private func write(_ entries: some Sequence<LogEntry>) -> Result<Int, StoreFault> {
        let result = attemptMakingRoom { () throws(DiskFault) in try log.write(entries) }
        guard case .failure = result, log.isGone else { return result }
        return attempt { () throws(DiskFault) in try log.write(entries) }
            .mapError { .failed("the log's files were removed: \($0.message)") }
    }

    /// Drops segments that are not needed, and retained events too, without waiting for the next review.
    /// - Returns: true if there is room now.
    private func makesRoom() -> Bool {
        isReviewDue = true
        endCopies()
        repeat {
            guard case .success = attempt({ () throws(DiskFault) in try log.makeRoom() }) else { return false }
            // Retained events are dropped before any job is refused (Behaviour R1).
        } while log.isOutOfRoom && log.canDropMoreRetained
        return !log.isOutOfRoom
    }

    /// True if appends and writes are not synced, so that most of them do not wait for the disk.
    var writesAtOnce: Bool { log.options.durability != .full }

    /// Commits appends and writes together if a single write is enough.
    /// - Returns: false if more is necessary, such as a sync or a new segment. Then none of the jobs is done.
    func writeAtOnce(_ jobs: [StoreJob]) -> Bool {
        // A fault is found again in the usual way, which returns the reason.
        guard !log.isGone else { return false }
        let isDone = try? log.writeAtOnce(LogEntries(jobs: jobs[...], newest: log.state.lastSequenceNumber))
        guard isDone == true else { return false }
        noteWrites(jobs[...])
        return true
    }

    /// Returns the result of work on the log. If the disk has no room, everything that is not needed is dropped, and
    /// the work is tried again.
    private func attemptMakingRoom<Value>(_ work: () throws(DiskFault) -> Value) -> Result<Value, StoreFault> {
        let result = attempt(work)
        guard case .failure(.noRoom) = result, makesRoom() else { return result }
        return attempt(work)
    }

    /// Returns the result of work on the log.
    private func attempt<Value>(_ work: () throws(DiskFault) -> Value) -> Result<Value, StoreFault> {
        do throws(DiskFault) { return .success(try work()) } catch {
            return .failure(error.storeFault("the log cannot be written or read"))
        }
    }

    /// Notes the background work that some jobs leave.
    private func noteWrites(_ jobs: ArraySlice<StoreJob>) {
        (isSyncDue, areIDsDue) = (log.active.isSyncDue, log.areIDsDue)
        writesSinceReview += jobs.count { $0.maySettle }
        // The retained events are reported, so that they are reviewed more often: after each write, in a small log.
        let least = log.state.retention == nil ? LogEngine.leastWritesBetweenReviews : 1
        let isMany = writesSinceReview >= max(least, log.state.segments.count) || jobs.contains(where: \.retains)
        guard isMany || writesSinceReview > 0 && log.isOutOfRoom else { return }
        (isReviewDue, writesSinceReview) = (true, 0)
    }

    // MARK: Reading

    /// Reads some events after a sequence number, up to ``lastAppended``.
    func read(after number: SequenceNumber) -> Result<Chunk?, StoreFault> {
        read(after: number, atLeast: .max)
    }

    /// Reads groups of events after a sequence number until they have some bytes, at most to the end of a block.
    private func read(after number: SequenceNumber, atLeast bytes: Int) -> Result<Chunk?, StoreFault> {
        firstChunk(after: number, atLeast: bytes) { $0.first <= lastAppended }
    }

    func readAged(_ span: AgedRange) -> Result<Chunk?, StoreFault> {
        firstChunk(after: span.after) { $0.first <= span.through && span.includes($0.ages) }
    }

    func take(_ scan: EventScan) -> Result<EventScan, StoreFault> {
        scan.continued(read) { $0.take($1) }
    }

    func take(_ scan: ErasureScan) -> Result<ErasureScan, StoreFault> {
        let needed = log.state.needed
        let size = log.options.searchSize
        return scan.continued(
            over: size, { read(after: $0, atLeast: size) }, { $0.take($1, most: size, needed.contains) })
    }

    /// Returns the events of the first suitable block with events after a sequence number.
    private func firstChunk(
        after number: SequenceNumber, atLeast bytes: Int = .max, _ matches: (LogSpan) -> Bool
    ) -> Result<Chunk?, StoreFault> {
        attempt { () throws(DiskFault) in
            for segment in log.segments where segment.index.events.last > number {
                let first = segment.index.firstBlock(behind: number)
                for block in segment.index.blocks[first...] where matches(block.span) {
                    if let chunk = try chunk(block, of: segment, after: number, atLeast: bytes) { return chunk }
                }
            }
            return nil
        }
    }

    private func chunk(
        _ block: LogBlock, of segment: LogSegment, after number: SequenceNumber, atLeast bytes: Int
    ) throws(DiskFault) -> Chunk? {
        var records: [UInt8] = []
        var found = RouteTallies()
        var newest = number
        // True if the block has more events than the records.
        var isCut = false
        do throws(DiskFault) {
            try segment.visitGroups(block) { group in
                let isInRange = group.span.last > number && group.span.last <= lastAppended
                isCut = isCut || isInRange && records.count >= bytes
                guard !isInRange || isCut || group.records.append(to: &records) else { return }
                found += group.span.tallies
                if isInRange, !isCut { newest = group.span.last }
            }
        } catch {
            // A removed file has no events. Any other fault may pass.
            guard error.isMissing, try log.hasLost(segment) else { throw error }
        }
        log.quarantine(block, found, of: segment)
        if let erased = log.state.erased, !erased.isEmpty { records = withoutErased(records, erased) }
        let last = isCut ? newest : min(block.span.last, lastAppended)
        return records.isEmpty && !isCut ? nil : Chunk(bytes: records, lastSequenceNumber: last)
    }

    /// Returns the records of the events that are not erased.
    private func withoutErased(_ records: [UInt8], _ erased: NumberSet) -> [UInt8] {
        let chunk = Chunk(bytes: records, lastSequenceNumber: .max)
        guard chunk.contains(where: { erased.contains($0.sequenceNumber) }) else { return records }
        return chunk.reduce(into: []) { if !erased.contains($1.sequenceNumber) { $0 += $1.record } }
    }

    // MARK: Rewinding

    /// Makes a dispatcher's events unsettled again. A copy in progress would leave these events out, so it is dropped.
    func rewind(_ request: RewindRequest) -> Result<RewindOutcome, StoreFault> {
        guard !request.isDryRun else { return attempt { () throws(DiskFault) in try log.rewind(request) } }
        endCopies()
        return attemptMakingRoom { () throws(DiskFault) in try log.rewind(request) }
    }

    // MARK: Erasing

    /// Records that events and dead letters are erased.
    func erase(_ events: [SequenceNumber], _ deadLetters: [DeadLetterNumber]) -> Result<Void, StoreFault> {
        attemptMakingRoom { () throws(DiskFault) in try log.erase(events, deadLetters) }
    }

    /// Does a step of the removal of the bytes of erased events.
    /// - Returns: true if no file has any.
    func removeErasedBytes() -> Result<Bool, StoreFault> {
        endCopies()
        let result = attempt { () throws(DiskFault) -> Bool in
            let removal: LogErasure
            if let erasure { removal = erasure } else { removal = try LogErasure(log) }
            erasure = removal
            return try removal.step()
        }
        if case .success(false) = result { return result }
        if case .failure = result { erasure?.cancel() }
        erasure = nil
        return result
    }

    // MARK: Backups

    /// Returns the next piece of a backup.
    func next(of backup: LogBackup) -> Result<BackupPiece, StoreFault> {
        attempt { () throws(DiskFault) in try backup.next(of: log) }.flatMap { piece in
            piece.map { .success($0) }
                ?? .failure(
                    .failed("a dispatcher was rewound, events were erased, or the log was repaired, during the backup"))
        }
    }

    // MARK: Dead letters

    func readDeadLetters(_ query: DeadLetterQuery) -> Result<StoredDeadLetterPage, StoreFault> {
        attempt { () throws(DiskFault) in
            var page = StoredDeadLetterPage(newest: log.state.deadLetters.newest)
            var damaged: [DeadLetterIndex.Entry] = []
            defer { log.quarantine(damaged) }
            for entry in log.state.deadLetters.matching(by: query) {
                guard let deadLetter = try log.deadLetter(entry) else {
                    damaged.append(entry)
                    continue
                }
                guard page.take(StoredDeadLetter(number: entry.number, deadLetter: deadLetter), query) else { break }
            }
            return page
        }
    }

    func purgeDeadLetters(_ query: DeadLetterQuery) -> Result<Int, StoreFault> {
        let numbers = log.state.deadLetters.matching(by: query).prefix(query.limit).map(\.number)
        guard !numbers.isEmpty else { return .success(0) }
        return write([.changes([.deadLettersGone(numbers)])]).map { _ in numbers.count }
    }

    // MARK: Background work

    /// True if segments are being copied.
    var isCopying: Bool { copy != nil }

    var hasBackgroundWork: Bool {
        !isPaused && (isSyncDue || isReviewDue || copy != nil || log.files.isShort || areIDsDue || canRekey)
    }

    /// Allows background work again after a fault, because there are new jobs.
    func resumeBackgroundWork() {
        isPaused = false
    }

    /// Does one step of the background work.
    func doBackgroundWork() {
        guard hasBackgroundWork else { return }
        do throws(DiskFault) {
            if isSyncDue {
                isSyncDue = false
                try log.syncAhead()
            } else if isReviewDue, copy == nil || log.isOutOfRoom {
                isReviewDue = false
                if log.isOutOfRoom { endCopies() } else { endCopy() }
                try log.makeRoom()
                if erasure == nil, rekey == nil { copy = try LogCopy(log) }
            } else if let copy {
                if try !copy.step() { self.copy = nil }
            } else if log.files.isShort {
                try log.files.makeReady()
            } else if areIDsDue {
                // Files of ids are written last, because they take room: on a full disk, work that makes room comes
                // first.
                areIDsDue = false
                try log.fileIDs()
            } else {
                try continueRekey()
            }
        } catch {
            // The work is tried again after the next jobs.
            endCopies()
            isPaused = true
        }
    }

    /// Drops the copies that are under way.
    private func endCopies() {
        endCopy()
        rekey?.endCopy()
    }

    private func endCopy() {
        copy?.cancel()
        copy = nil
    }

    // MARK: Keys

    /// True if files that should be encrypted are not, or the other way round. Files under an older key are rewritten
    /// only on the operator's request (Behaviour C2).
    private var needsRekey: Bool {
        guard let keyring = log.files.keyring else { return false }
        // A header that cannot be read now is read again by the rewriting.
        let found = try? log.bytesByKey(with: [])
        return keyring.writing == nil ? found?.keys.contains { $0 != 0 } ?? true : found?[0] != nil
    }

    /// True while files wait for being rewritten under the present key.
    var isRekeying: Bool { isRekeyDue }

    /// True if files may be rewritten under another key now. An erasure rewrites all files too, so the rewriting waits
    /// for its end.
    private var canRekey: Bool { isRekeyDue && erasure == nil && log.state.erased == nil }

    /// Uses other keys from now on, and rewrites everything that is not under the first of them, step by step.
    /// - Parameter keys: nil leaves the keys as they are.
    /// - Returns: the keys of the files now.
    func rekey(_ keys: EncryptionKeys?) -> Result<StoreEncryption, StoreFault> {
        guard let keyring = log.files.keyring else { return .failure(.failed("the event store has no keys")) }
        if let keys {
            let needed = attempt { () throws(DiskFault) in try bytesByKey().keys.filter { $0 != 0 } }
            switch needed.map({ $0.filter { !keyring.isThere($0, in: keys) } }) {
            case .failure(let fault): return .failure(fault)
            case .success(let missing):
                if let number = missing.min() {
                    return .failure(.failed("files are still under key \(number), which is missing or another key now"))
                }
                keyring.replace(keys)
            }
        }
        log.files.beginCleaning()
        isRekeyDue = true
        return attempt { () throws(DiskFault) in try encryption(keyring) }
    }

    private func bytesByKey() throws(DiskFault) -> [UInt16: Int] { try log.bytesByKey(with: rekey?.formerIDs ?? []) }

    private func encryption(_ keyring: Keyring) throws(DiskFault) -> StoreEncryption {
        let bytes = try bytesByKey().map { (Int($0), $1) }
        return StoreEncryption(
            key: keyring.writing.map { Int($0) }, bytes: Dictionary(uniqueKeysWithValues: bytes),
            isRewriting: isRekeyDue)
    }

    /// Returns the keys of the files, or nil if they were reported already.
    func takeEncryptionNews() -> StoreEncryption? {
        guard let keyring = log.files.keyring else { return nil }
        // The keys change with the files. Their headers are read once.
        let now = KeyFacts(
            counts: log.counts, ids: log.state.ids.files.map(\.segment), obsolete: log.sealed.obsolete,
            unremoved: log.files.unremoved, isDue: isRekeyDue, key: keyring.writing)
        guard now != reportedKeys, let found = try? encryption(keyring) else { return nil }
        reportedKeys = now
        return found
    }

    private func continueRekey() throws(DiskFault) {
        guard canRekey else { return }
        let work = rekey ?? LogRekey(log)
        rekey = work
        guard try work.step() else { return }
        (rekey, isRekeyDue) = (nil, false)
    }

    /// Closes the log. It is not used again.
    func finish() {
        endCopies()
        // After a failed close the next start writes doubtful frames again.
        try? log.close()
    }
}

extension StoreJob {
    /// True if the job may make content unneeded. An append of events alone does not.
    fileprivate var maySettle: Bool {
        if case .append(let group, _) = self { group.hasExtras } else { true }
    }
}

extension StoreJob {
    /// True if the job sets the limits of retained events.
    fileprivate var retains: Bool {
        guard case .write(let changes, _) = self else { return false }
        return changes.contains { if case .retain(.some) = $0 { true } else { false } }
    }
}

/// The facts that change with the keys of the files.
private struct KeyFacts: Equatable {
    var counts: LogCounts
    var ids: [UInt64]
    var obsolete: [LogFile]
    var unremoved: Set<UInt32>
    var isDue: Bool
    var key: UInt16?
}

/// The entries of some jobs, in their order.
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
    /// Returns nil for a job that writes nothing.
    /// - Parameter newest: the newest event.
    fileprivate init?(_ job: StoreJob, newest: SequenceNumber) {
        switch job {
        case .append(let group, _): self = .group(group)
        case .write(let changes, _): self = .changes(changes.map { .requested($0.reaching(atMost: newest)) })
        case .ask, .close: return nil
        }
    }
}

extension StoreChange {
    /// Returns the change, limited to the newest event: later events cannot be trimmed yet.
    fileprivate func reaching(atMost newest: SequenceNumber) -> StoreChange {
        if case .trim(let through) = self { .trim(through: min(through, newest)) } else { self }
    }
}
