import HeadgateCore
import HeadgateData

/// An event store in a database, as its thread sees it.
final class StoreDatabase: StoreEngine {
    let connection: SQLiteConnection
    let chunks: ChunkTable
    let letters: DeadLetterTable
    private let chores: StoreChores
    private let options: DiskEventStore.Options
    /// The database's file when it was opened.
    private let file: FileIdentity?
    /// Held for its lock.
    private let directory: DataDirectory
    /// The highest sequence number that was appended.
    var lastAppended: SequenceNumber
    /// Dead letters that had to make room for newer ones, by dispatcher, and of which nobody has been told.
    private var droppedLetters: [DispatcherNumber: Int] = [:]
    /// Routes whose group could not be kept: later events may use them, so they go with the next group.
    private var unsavedRoutes: [RouteNumber: [DispatcherNumber]] = [:]

    init(
        _ connection: SQLiteConnection, directory: DataDirectory, options: DiskEventStore.Options,
        lastAppended: SequenceNumber
    ) {
        self.connection = connection
        self.directory = directory
        self.options = options
        file = options.disk.identity(of: directory.databasePath)
        self.lastAppended = lastAppended
        chunks = ChunkTable(connection)
        letters = DeadLetterTable(connection)
        chores = StoreChores(connection)
    }

    /// Commits appends and writes in one transaction.
    func commit(_ jobs: ArraySlice<StoreJob>) -> Result<Int, StoreFault> {
        do throws(SQLiteError) {
            let isSynced = options.durability == .full && jobs.contains(where: \.isAppend)
            try connection.setSyncing(isSynced)
            let transact = { [self] () throws(SQLiteError) in
                try connection.transaction { () throws(SQLiteError) in
                    for job in jobs { try apply(job) }
                }
            }
            // SQLite syncs when the transaction ends: of that only the whole can be measured.
            if isSynced, let times = options.disk.syncTimes { try times.measure(transact) } else { try transact() }
            guard isInPlace else {
                return .failure(
                    .failed("\(directory.databasePath) was taken away; restart the daemon to begin a new one"))
            }
            jobs.forEach(committed)
            droppedLetters.add(letters.committed())
            return .success(jobs.count)
        } catch {
            letters.rolledBack()
            if jobs.count == 1 { keepRoutes(of: jobs[jobs.startIndex]) }
            return .failure(error.fault)
        }
    }

    /// SQLite goes on writing to a file that has lost its name: what is in it is gone with the process.
    private var isInPlace: Bool { options.disk.identity(of: directory.databasePath) == file }

    private func apply(_ job: StoreJob) throws(SQLiteError) {
        switch job {
        case .append(let group): try append(group)
        case .write(let changes): for change in changes { try apply(change) }
        case .read, .readAged, .survey, .readLetters, .purgeLetters, .close: break
        }
    }

    // MARK: Events

    private func append(_ group: AppendGroup) throws(SQLiteError) {
        for (number, dispatchers) in unsavedRoutes.merging(group.newRoutes, uniquingKeysWith: { $1 }) {
            try connection.run(
                "INSERT OR REPLACE INTO routes VALUES (?, ?)", .integer(number),
                .blob(dispatchers.flatMap { LittleEndian.bytes($0) }))
        }
        try lay(group.groundwork)
        try insert(group)
        try letters.remove(group.requeued)
        guard let ids = group.recentIDs else { return }
        try connection.run(
            """
            INSERT OR REPLACE INTO recent_ids (last_seq, received_stamp, count, ids, form) VALUES (?, ?, ?, ?, ?)
            """, .integer(ids.lastSequenceNumber), .integer(ids.receivedStamp), .integer(ids.count), .blob(ids.bytes),
            .integer(ids.form.rawValue))
    }

    /// Keeps what is not kept yet, and since when dispatchers are gone that are.
    private func lay(_ groundwork: Groundwork) throws(SQLiteError) {
        for dispatcher in groundwork.dispatchers {
            try connection.run(
                """
                INSERT INTO dispatchers VALUES (?, ?, ?, ?, ?)
                ON CONFLICT (number) DO UPDATE SET orphaned_since = excluded.orphaned_since
                ON CONFLICT DO NOTHING
                """, .integer(dispatcher.number), .text(dispatcher.id), .integer(dispatcher.position),
                .blob(RangeBlob.encode(dispatcher.settled)), .optional(dispatcher.orphanedSince))
        }
        for (name, value) in groundwork.kept {
            try connection.run("INSERT INTO kept VALUES (?, ?) ON CONFLICT DO NOTHING", .text(name), .blob(value))
        }
    }

    private func insert(_ group: AppendGroup) throws(SQLiteError) {
        let chunk = group.chunk
        let tallies = TallyBlob.encode(group.tallies)
        let checksum = tallies.withUnsafeBytes { tallies in
            chunk.bytes.withUnsafeBytes {
                ChunkChecksum.of(chunk.lastSequenceNumber, tallies: tallies, records: $0)
            }
        }
        try connection.run(
            """
            INSERT INTO chunks (last_seq, first_seq, tallies, checksum, records,
                first_receipt, last_receipt, first_expiry, last_expiry) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """, .integer(chunk.lastSequenceNumber),
            .integer(chunk.firstSequenceNumber), .blob(tallies),
            .integer(checksum), .blob(chunk.bytes), .integer(group.ages.firstReceipt),
            .integer(group.ages.lastReceipt), .integer(group.ages.firstExpiry), .integer(group.ages.lastExpiry))
    }

    // MARK: Changes

    /// Makes one change. Those that only make room are left for the chores.
    private func apply(_ change: StoreChange) throws(SQLiteError) {
        switch change {
        case .dispatcher(let dispatcher): try save(dispatcher)
        case .forgetDispatcher(let number): try forget(number)
        case .settled(let number, let settled):
            try connection.run(
                "UPDATE dispatchers SET position = ?, ranges = ? WHERE number = ?", .integer(settled.position),
                .blob(RangeBlob.encode(settled)), .integer(number))
        case .deadLetter(let letter): try letters.save(letter)
        case .limitLetters(let bounds): try letters.limit(to: bounds)
        case .forgetRoutes(let numbers): try forget(numbers)
        case .trim, .forgetIDs: break
        case .keep(let name, let value?):
            try connection.run("INSERT OR REPLACE INTO kept VALUES (?, ?)", .text(name), .blob(value))
        case .keep(let name, nil):
            try connection.run("DELETE FROM kept WHERE name = ?", .text(name))
        }
    }

    private func forget(_ routes: [RouteNumber]) throws(SQLiteError) {
        let list = "[" + routes.map(String.init).joined(separator: ",") + "]"
        try connection.run("DELETE FROM routes WHERE number IN (SELECT value FROM json_each(?))", .text(list))
        for number in routes { unsavedRoutes[number] = nil }
    }

    private func save(_ dispatcher: StoredDispatcher) throws(SQLiteError) {
        try connection.run(
            """
            INSERT INTO dispatchers VALUES (?, ?, ?, ?, ?) ON CONFLICT (number)
            DO UPDATE SET id = excluded.id, position = excluded.position, ranges = excluded.ranges,
                orphaned_since = excluded.orphaned_since
            """, .integer(dispatcher.number), .text(dispatcher.id), .integer(dispatcher.position),
            .blob(RangeBlob.encode(dispatcher.settled)), .optional(dispatcher.orphanedSince))
    }

    private func forget(_ dispatcher: DispatcherNumber) throws(SQLiteError) {
        try connection.run("DELETE FROM dispatchers WHERE number = ?", .integer(dispatcher))
        try letters.forget(dispatcher)
    }

    // MARK: After a commit

    private func committed(_ job: StoreJob) {
        switch job {
        case .append(let group):
            unsavedRoutes = [:]
            if group.forgottenIDs > 0 { chores.note(.forgetIDs(through: group.forgottenIDs)) }
        case .write(let changes): for change in changes { chores.note(change) }
        case .read, .readAged, .survey, .readLetters, .purgeLetters, .close: break
        }
    }

    private func keepRoutes(of job: StoreJob) {
        guard case .append(let group) = job else { return }
        unsavedRoutes.merge(group.newRoutes) { $1 }
    }

    func makeCertain() throws(StoreFault) {
        do throws(SQLiteError) {
            try connection.setSyncing(true)
            try connection.emptyLog()
        } catch {
            throw error.fault
        }
    }

    /// Moves the log into the file before it is closed, so that one file is all there is. What cannot be moved now is
    /// moved at the next start.
    func finish() {
        try? connection.emptyLog()
    }

    // MARK: Reading

    func read(after sequenceNumber: SequenceNumber) -> Result<Chunk?, StoreFault> {
        chunks.read(after: sequenceNumber, through: lastAppended)
    }

    func readAged(_ stretch: AgedStretch) -> Result<Chunk?, StoreFault> { chunks.readAged(stretch) }

    func readLetters(_ query: LetterQuery) -> Result<LetterPage, StoreFault> { letters.read(query) }

    func purgeLetters(_ query: LetterQuery) -> Result<Int, StoreFault> { letters.purge(query) }

    func takeOver(_ letters: [StoredLetter]) throws(StoreFault) {
        do throws(SQLiteError) {
            try connection.setSyncing(false)
            try connection.transaction { () throws(SQLiteError) in
                for letter in letters { try self.letters.save(letter.letter, under: letter.number) }
            }
            droppedLetters.add(self.letters.committed())
        } catch {
            self.letters.rolledBack()
            throw error.fault
        }
    }

    func takeQuarantined() -> Int { chunks.takeQuarantined() }

    func takeDroppedLetters() -> [DispatcherNumber: Int] {
        defer { droppedLetters = [:] }
        return droppedLetters
    }

    var letterTally: Tally { letters.tally }

    var toldLetters = Tally.zero

    var toldBytes = 0

    /// In steps, so that not each commit is news.
    var diskBytes: Int {
        let bytes = directory.databasePaths.reduce(0) { $0 + options.disk.size(of: $1) }
        return (bytes + StoreDatabase.step - 1) / StoreDatabase.step * StoreDatabase.step
    }

    private static let step = 64 << 10

    // MARK: Chores

    var hasChores: Bool { chores.isDue }

    func doSomeChores() { chores.doSome() }

    func resumeChores() { chores.resume() }

    /// Takes note of a change that makes room, which is left for the chores.
    func note(_ change: StoreChange) {
        chores.note(change)
    }
}

extension StoreJob {
    fileprivate var isAppend: Bool {
        if case .append = self { true } else { false }
    }
}
