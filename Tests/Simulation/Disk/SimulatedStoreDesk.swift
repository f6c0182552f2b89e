import HeadgateCore

@testable import HeadgateServer

/// The store's thread, as a history has it: it gets its turn when the history says so, on the history's own thread.
final class SimulatedStoreDesk: StoreDesk {
    /// Whether the disk hangs: nothing is carried out.
    var isHeld = false
    private let options: SQLiteEventStore.Options
    private var database: StoreDatabase?
    private var ring: @Sendable () -> Void = {}
    private var jobs: [StoreJob] = []
    private var outcomes: [StoreOutcome] = []

    init(options: SQLiteEventStore.Options) {
        self.options = options
    }

    func open(ring: @escaping @Sendable () -> Void) throws(StoreFault) -> StoredState {
        let (database, state) = try StoreDatabase.open(options)
        self.database = database
        self.ring = ring
        report(database.takeQuarantined())
        return state
    }

    func put(_ job: StoreJob) {
        jobs.append(job)
    }

    func takeOutcomes() -> [StoreOutcome] {
        defer { outcomes = [] }
        return outcomes
    }

    var isOpen: Bool { database != nil }

    /// Whether it would do something.
    var hasWork: Bool { !isHeld && (!jobs.isEmpty || database?.hasChores == true) }

    /// Whether a change of what is kept waits.
    var hasWrite: Bool { jobs.contains { if case .write = $0 { true } else { false } } }

    /// Carries out what waits, together.
    func takeTurn() {
        guard hasWork, let database else { return }
        let turn = jobs
        jobs = []
        guard !database.turn(turn, report: report) else { return }
        self.database = nil
        report([.closed])
    }

    /// Every group that can be read, and those that are not what was written. They stay where they are.
    func readAll() -> (chunks: [Chunk], damaged: [SequenceNumber]) {
        var (chunks, damaged): ([Chunk], [SequenceNumber]) = ([], [])
        try? database?.connection.query("SELECT \(ChunkRow.columns) FROM chunks ORDER BY last_seq") {
            (row) throws(SQLiteError) in
            let row = ChunkRow(row)
            let chunk = Chunk(bytes: Array(row.records), lastSequenceNumber: row.last)
            if row.isSound { chunks.append(chunk) } else { damaged.append(row.last) }
            return true
        }
        return (chunks, damaged)
    }

    /// Every dead letter that can be read.
    func readAllLetters() -> [StoredLetter] {
        var (letters, query): ([StoredLetter], LetterQuery?) = ([], LetterQuery(limit: 1_000))
        while let next = query, let page = try? database?.letters.read(next).get() {
            letters += page.letters
            query?.after = page.next ?? 0
            if page.next == nil { query = nil }
        }
        return letters
    }

    /// The daemon is gone, and its thread with it.
    func end() {
        (database, jobs, outcomes, ring) = (nil, [], [], {})
    }

    private func report(_ news: [StoreOutcome]) {
        let isFirst = outcomes.isEmpty && !news.isEmpty
        outcomes += news
        if isFirst { ring() }
    }
}
