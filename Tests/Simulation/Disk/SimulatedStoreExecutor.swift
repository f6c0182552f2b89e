import HeadgateCore

@testable import HeadgateServer
@testable import HeadgateStore

/// The store's thread in a history. It runs when the history says so, on the history's own thread.
final class SimulatedStoreExecutor: StoreExecutor {
    /// True while the disk hangs and no job is carried out.
    var isHeld = false
    /// The duration of a sync. Until it has ended, its results are not reported and no other job is carried out.
    var syncTime = Duration.zero
    /// The end of the syncs of the last turn.
    private var busyUntil: Instant?
    private let options: DiskEventStore.Options
    private let disk: SimulatedDisk
    private let scheduler: SimulatedScheduler
    private var engine: LogEngine?
    private var ring: @Sendable () -> Void = {}
    private var jobs: [StoreJob] = []
    private var news: [StoreNews] = []

    /// True if the last turn began segments. `hasFreedSegments` is true if it dropped or copied some.
    private(set) var hasBegunSegment = false
    private(set) var hasFreedSegments = false
    /// True if the last turn quarantined something.
    private(set) var hasPutAside = false
    /// The number of events that the start found damaged.
    private(set) var damagedAtStart = 0
    private let record: Record

    init(options: DiskEventStore.Options, _ disk: SimulatedDisk, _ scheduler: SimulatedScheduler, _ record: Record) {
        (self.options, self.disk, self.scheduler, self.record) = (options, disk, scheduler, record)
    }

    func open(ring: @escaping @Sendable () -> Void) throws(StoreFault) -> StoredState {
        let opened = try options.open()
        engine = opened.engine
        damagedAtStart = opened.state.quarantined
        checkFiles()
        self.ring = ring
        opened.engine.reportNews(notify)
        return opened.state
    }

    /// Checks that a start leaves no file that the log does not need, unless a call of the disk failed.
    private func checkFiles() {
        guard let log = engine?.log, !disk.hasFailed, !disk.isDown else { return }
        let used = log.segments.map(\.file) + log.state.ids.files.map(\.file)
        let names = disk.whileWell { try? disk.list(options.logDirectory) } ?? []
        let stray = Set(names.filter { $0.hasSuffix(".log") }.map { options.logDirectory + "/" + $0 })
            .subtracting(used.map { log.files.path($0.number) })
        record.expect(stray.isEmpty, "a start leaves unneeded files: \(stray.sorted())")
    }

    func put(_ job: StoreJob) {
        jobs.append(job)
    }

    func takeNews() -> [StoreNews] {
        defer { news = [] }
        return news
    }

    var isOpen: Bool { engine != nil }

    /// The erased events whose bytes may still be on disk, or nil if the bytes of all are gone.
    var erased: Set<SequenceNumber>? {
        guard let state = engine?.log.state, let erased = state.erased else { return nil }
        return Set((1...max(1, state.lastSequenceNumber)).filter(erased.contains))
    }

    /// The number after which the store retains delivered events at any age; nil if it retains none.
    var retainedBehind: SequenceNumber? {
        guard let state = engine?.log.state, state.retention?.receivedAfter == .min else { return nil }
        return state.unretainedThrough == 0 ? 0 : state.lastSequenceNumber
    }

    /// True if the store's thread would have work in a turn.
    var hasWork: Bool { !isHeld && !isSyncing && (!jobs.isEmpty || engine?.hasBackgroundWork == true) }

    /// True if segments are being copied.
    var isCopying: Bool { engine?.isCopying == true }

    /// True if a sync is in progress.
    var isSyncing: Bool { busyUntil.map { scheduler.now < $0 } ?? false }

    /// True if no job is waiting or in progress.
    var isIdle: Bool { !hasWork && !isHeld && !isSyncing }

    /// True if a write of changes is waiting.
    var hasWrite: Bool { jobs.contains { if case .write = $0 { true } else { false } } }

    /// True if an append is waiting.
    var hasAppend: Bool { jobs.contains { if case .append = $0 { true } else { false } } }

    /// True if the removal of a dispatcher is waiting.
    var hasForgetting: Bool {
        jobs.contains { job in
            guard case .write(let changes, _) = job else { return false }
            return changes.contains { if case .forgetDispatcher = $0 { true } else { false } }
        }
    }

    /// Carries out all waiting jobs together.
    func takeTurn() {
        guard hasWork, let engine else { return }
        let turn = jobs
        jobs = []
        (hasBegunSegment, hasFreedSegments, hasPutAside) = (false, false, false)
        let before = engine.counts
        defer { if let after = self.engine?.counts { watch(before, after) } }
        let (begin, syncs) = (scheduler.now, disk.syncs)
        let moment = { [disk, syncTime] in begin + syncTime * (disk.syncs - syncs) }
        let report = { [self] in notify($0, at: moment()) }
        if !carryOut(turn, engine, report) {
            self.engine = nil
            report(StoreNews(answers: turn.closings))
        }
        busyUntil = moment()
        if isSyncing { record.count(.syncSlow) }
    }

    /// Carries out jobs as the store's thread does, or as the loop's thread, which leaves longer work to the store's.
    /// - Returns: True if the store continues.
    private func carryOut(
        _ jobs: [StoreJob], _ engine: LogEngine, _ report: (StoreNews) -> Void
    ) -> Bool {
        if engine.writesAtOnce, !jobs.isEmpty, jobs.allSatisfy(\.isChange), record.oneIn(2) {
            guard !engine.carryOutAtOnce(jobs, report: report) else {
                engine.reportNews(report)
                record.count(.writtenAtOnce)
                return true
            }
        }
        return engine.turn(jobs, report: report)
    }

    private func watch(_ before: LogCounts, _ after: LogCounts) {
        hasBegunSegment = after.begun > before.begun
        hasFreedSegments = after.forgotten > before.forgotten || after.copied > before.copied
        if after.begun > before.begun { record.count(.segmentBegun) }
        if after.forgotten > before.forgotten { record.count(.segmentForgotten) }
        if after.copied > before.copied { record.count(.segmentCopied) }
        if after.recovered > before.recovered { record.count(.logRecovered) }
    }

    /// Returns every undamaged group. Bypasses the log's own reads, which would quarantine damaged groups.
    func readAll() -> [Chunk] {
        var chunks: [Chunk] = []
        for segment in engine?.log.segments ?? [] {
            for block in segment.index.blocks {
                try? segment.visitGroups(block) { group in
                    if group.records.isPacked { record.count(.unpacked) }
                    if let chunk = group.chunk { chunks.append(chunk) }
                }
            }
        }
        return chunks
    }

    /// Returns every readable dead letter.
    func readAllDeadLetters() -> [StoredDeadLetter] {
        var (deadLetters, query): ([StoredDeadLetter], DeadLetterQuery?) = ([], DeadLetterQuery(limit: 1_000))
        while let next = query, let page = try? engine?.readDeadLetters(next).get() {
            deadLetters += page.deadLetters
            query?.after = page.next ?? 0
            if page.next == nil { query = nil }
        }
        return deadLetters
    }

    /// Ends the store's thread together with the daemon.
    func end() {
        (engine, jobs, news, ring) = (nil, [], [], {})
    }

    private func notify(_ new: StoreNews, at moment: Instant) {
        if new.losses.quarantined > 0 { hasPutAside = true }
        guard moment > scheduler.now else { return notify(new) }
        _ = scheduler.schedule(at: moment) { [weak self] in self?.notify(new) }
    }

    private func notify(_ new: StoreNews) {
        let isFirst = news.isEmpty
        news.append(new)
        if isFirst { ring() }
    }
}
