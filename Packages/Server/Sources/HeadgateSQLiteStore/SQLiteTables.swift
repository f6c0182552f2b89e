import Glibc
import HeadgateCore

/// A change that a transaction makes.
enum SQLiteChange {
    case append(AppendGroup)
    case write([StoreChange])
}

/// The tables of the database, as the store's thread sees them.
final class SQLiteTables {
    let connection: SQLiteConnection
    private let options: SQLiteOptions
    /// The highest sequence number that was appended.
    private var lastAppended: SequenceNumber
    /// Called with the duration of each synced commit, in nanoseconds.
    var noteSync: (Int64) -> Void = { _ in }
    private(set) var deadLetterTally: Tally
    private var dropped: [DispatcherNumber: Int] = [:]
    /// The damaged events that were counted.
    private var lost: Set<SequenceNumber> = []
    private var untoldLosses = 0
    /// The event up to which no dispatcher needs any, while some of them are still stored; nil if none is.
    private var trimThrough: SequenceNumber?
    private var isPaused = false
    private let file: SQLiteFile?

    private static let trimStep = 512
    private static let mostBytesOfChunk = 256 << 10

    init(_ connection: SQLiteConnection, _ options: SQLiteOptions, _ state: StoredState) {
        (self.connection, self.options) = (connection, options)
        (lastAppended, deadLetterTally) = (state.lastSequenceNumber, state.deadLetterTally)
        trimThrough = state.dispatchers.map(\.position).min()
        file = options.fileSystem == nil ? SQLiteFile(options.path) : nil
    }

    // MARK: Changes

    /// Commits changes together. If that fails, each is tried alone, so that none fails because of another.
    /// - Returns: the fault of each change, or nil.
    func commit(_ changes: [SQLiteChange]) -> [StoreFault?] {
        if changes.count > 1, isSound(changes), transact(changes) == nil { return changes.map { _ in nil } }
        return changes.map { isSound([$0]) ? transact([$0]) : .predecessorMissing }
    }

    /// Returns true if the predecessor of each group is stored, or is an earlier one of the changes.
    private func isSound(_ changes: [SQLiteChange]) -> Bool {
        var last = lastAppended
        return changes.allSatisfy { change in
            guard case .append(let group) = change else { return true }
            defer { last = group.chunk.lastSequenceNumber }
            return group.behind <= last
        }
    }

    private func transact(_ changes: [SQLiteChange]) -> StoreFault? {
        let (tally, start) = (deadLetterTally, SQLiteTables.now)
        var dropped: [DispatcherNumber: Int] = [:]
        do throws(SQLiteError) {
            try connection.transaction { () throws(SQLiteError) in
                for change in changes { try apply(change, &dropped) }
            }
        } catch {
            deadLetterTally = tally
            return error.fault
        }
        if options.isSynced { noteSync(SQLiteTables.now - start) }
        // SQLite continues to write to a removed file, whose content is lost with the process.
        guard file == nil || SQLiteFile(options.path) == file else {
            return .failed("\(options.path) was removed; restart the daemon to create a new one")
        }
        self.dropped.merge(dropped, uniquingKeysWith: +)
        changes.forEach(committed)
        return nil
    }

    private static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    private func committed(_ change: SQLiteChange) {
        switch change {
        case .append(let group): lastAppended = max(lastAppended, group.chunk.lastSequenceNumber)
        case .write(let changes):
            for case .trim(let through) in changes { trimThrough = max(through, trimThrough ?? through) }
        }
    }

    private func apply(_ change: SQLiteChange, _ dropped: inout [DispatcherNumber: Int]) throws(SQLiteError) {
        switch change {
        case .append(let group): try append(group)
        case .write(let changes): for change in changes { try apply(change, &dropped) }
        }
    }

    private func append(_ group: AppendGroup) throws(SQLiteError) {
        for (number, dispatchers) in group.newRoutes {
            try connection.run(
                "INSERT OR REPLACE INTO routes VALUES (?, ?)", .integer(number), .text(SQLiteLists.text(dispatchers)))
        }
        for dispatcher in group.initialState.dispatchers {
            try connection.run(
                """
                INSERT INTO dispatchers VALUES (?, ?, ?, ?, ?)
                ON CONFLICT (number) DO UPDATE SET orphaned_since = excluded.orphaned_since
                ON CONFLICT DO NOTHING
                """, dispatcher.row)
        }
        for (name, value) in group.initialState.kept {
            try connection.run("INSERT INTO kept VALUES (?, ?) ON CONFLICT DO NOTHING", .text(name), .blob(value))
        }
        for event in group.chunk { try insert(EventPieces(event)) }
        try deleteDeadLetters(group.requeued)
        if let ids = group.recentIDs { try insert(ids) }
        if group.forgottenIDs > 0 { try forgetIDs(through: group.forgottenIDs) }
        try note("last_seq", group.chunk.lastSequenceNumber)
        if group.ages.lastReceipt > .min { try note("newest_receipt", group.ages.lastReceipt) }
    }

    private func insert(_ event: EventPieces) throws(SQLiteError) {
        try connection.run(
            """
            INSERT INTO events (seq, route, size, received, expires, id_length, key_length, checksum, head, context, data)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """, .integer(event.sequenceNumber), .integer(event.route), .integer(event.byteCount),
            .integer(event.receivedStamp), .integer(event.expiryStamp), .integer(event.idLength),
            .integer(event.keyLength), .number(SQLiteChecksum.of(event)), .utf8(event.head), .utf8(event.context),
            .utf8(event.data))
    }

    private func insert(_ ids: RecentIDs) throws(SQLiteError) {
        try connection.run(
            "INSERT OR REPLACE INTO recent_ids VALUES (?, ?, ?, ?, ?)", .integer(ids.lastSequenceNumber),
            .integer(ids.receivedStamp), .integer(ids.count), .integer(ids.form.rawValue), .blob(ids.bytes))
    }

    private func note(_ name: String, _ number: Int64) throws(SQLiteError) {
        try connection.run("INSERT OR REPLACE INTO numbers VALUES (?, ?)", .text(name), .number(number))
    }

    private func forgetIDs(through last: SequenceNumber) throws(SQLiteError) {
        try connection.run("DELETE FROM recent_ids WHERE last_seq <= ?", .integer(last))
    }

    private func apply(_ change: StoreChange, _ dropped: inout [DispatcherNumber: Int]) throws(SQLiteError) {
        switch change {
        case .dispatcher(let dispatcher):
            try connection.run("INSERT OR REPLACE INTO dispatchers VALUES (?, ?, ?, ?, ?)", dispatcher.row)
        case .forgetDispatcher(let number):
            try connection.run("DELETE FROM dispatchers WHERE number = ?", .integer(number))
            try connection.run("DELETE FROM dead_letters WHERE dispatcher = ?", .integer(number))
            try countDeadLetters()
        case .settled(let number, let settled):
            try connection.run(
                "UPDATE dispatchers SET position = ?, settled = ? WHERE number = ?", .integer(settled.position),
                .text(SQLiteLists.text(settled.ranges)), .integer(number))
        case .deadLetter(let deadLetter): try insert(deadLetter)
        case .limitDeadLetters(let bounds): try limitDeadLetters(to: bounds, &dropped)
        case .forgetRoutes(let numbers):
            for number in numbers { try connection.run("DELETE FROM routes WHERE number = ?", .integer(number)) }
        case .forgetIDs(let through): try forgetIDs(through: through)
        // The background work deletes the events.
        case .trim: break
        case .keep(let name, let value?):
            try connection.run("INSERT OR REPLACE INTO kept VALUES (?, ?)", .text(name), .blob(value))
        // This store cannot rewind, and keeps no settled events.
        case .retain: break
        case .keep(let name, nil): try connection.run("DELETE FROM kept WHERE name = ?", .text(name))
        }
    }

    // MARK: Reading events

    /// Returns the events after a number, as many as fit into a chunk.
    func read(after number: SequenceNumber) -> Result<Chunk?, StoreFault> {
        attempt { () throws(SQLiteError) in
            var (records, last): ([UInt8], SequenceNumber) = ([], number)
            do throws(SQLiteError) {
                try connection.query("\(SQLiteTables.selection) WHERE seq > ? ORDER BY seq", .integer(number)) {
                    row throws(SQLiteError) in
                    last = row.integer(0)
                    if let record = record(row) { records += record }
                    return records.count < SQLiteTables.mostBytesOfChunk
                }
            } catch {
                // The table is damaged at this row. Its index has the numbers of later events.
                guard error.isDamage || !records.isEmpty else { throw error }
                if records.isEmpty { return try gatherOneByOne(after: last) }
            }
            return records.isEmpty ? nil : Chunk(bytes: records, lastSequenceNumber: last)
        }
    }

    func readAged(_ range: AgedRange) -> Result<Chunk?, StoreFault> {
        attempt { () throws(SQLiteError) in
            var (records, last): ([UInt8], SequenceNumber) = ([], range.after)
            try connection.query(
                "SELECT seq, received, expires FROM events INDEXED BY events_by_number WHERE seq > ? AND seq <= ?",
                .integer(range.after), .integer(range.through)
            ) { row throws(SQLiteError) in
                guard range.includes(GroupAges(received: row.integer(1), expires: row.integer(2))) else { return true }
                last = row.integer(0)
                if let record = try record(last) { records += record }
                return records.count < SQLiteTables.mostBytesOfChunk
            }
            return records.isEmpty ? nil : Chunk(bytes: records, lastSequenceNumber: last)
        }
    }

    func take(_ scan: EventScan) -> Result<EventScan, StoreFault> {
        scan.continued(read) { $0.take($1) }
    }

    /// Returns the first readable event after a number. Unreadable ones are counted as damaged.
    private func gatherOneByOne(after number: SequenceNumber) throws(SQLiteError) -> Chunk? {
        var found: Chunk?
        try connection.query(
            "SELECT seq FROM events INDEXED BY events_by_number WHERE seq > ? ORDER BY seq", .integer(number)
        ) { row throws(SQLiteError) in
            let number = row.integer(0)
            found = try record(number).map { Chunk(bytes: $0, lastSequenceNumber: number) }
            return found == nil
        }
        return found
    }

    private static let selection =
        "SELECT seq, route, received, expires, id_length, key_length, checksum, head, context, data FROM events"

    /// Reads one event; nil if it is damaged.
    private func record(_ number: SequenceNumber) throws(SQLiteError) -> [UInt8]? {
        var found: [UInt8]?
        do throws(SQLiteError) {
            try connection.query("\(SQLiteTables.selection) WHERE seq = ?", .integer(number)) {
                row throws(SQLiteError) in
                found = record(row)
                return false
            }
        } catch {
            guard error.isDamage else { throw error }
        }
        if found == nil { lose(number) }
        return found
    }

    private func record(_ row: SQLiteRow) -> [UInt8]? {
        let event = EventPieces(
            sequenceNumber: row.integer(0), route: RouteNumber(truncatingIfNeeded: row.integer(1)),
            receivedStamp: row.integer(2), expiryStamp: row.integer(3), idLength: Int(row.integer(4)),
            keyLength: Int(row.integer(5)), head: row.blob(7), context: row.blob(8), data: row.blob(9))
        guard let event, SQLiteChecksum.of(event) == row.integer(6) else {
            lose(row.integer(0))
            return nil
        }
        return event.record
    }

    private func lose(_ number: SequenceNumber) {
        if lost.insert(number).inserted { untoldLosses += 1 }
    }

    /// Returns the events that were found damaged and the dead letters that made room since this was last called.
    func takeLosses() -> (lost: Int, droppedDeadLetters: [DispatcherNumber: Int]) {
        defer { (untoldLosses, dropped) = (0, [:]) }
        return (untoldLosses, dropped)
    }

    private func attempt<Value>(_ work: () throws(SQLiteError) -> Value) -> Result<Value, StoreFault> {
        do throws(SQLiteError) { return .success(try work()) } catch { return .failure(error.fault) }
    }

    // MARK: Dead letters

    private func insert(_ deadLetter: DeadLetter) throws(SQLiteError) {
        try connection.run(
            """
            INSERT INTO dead_letters (dispatcher, seq, reason, status, attempts, first_failed_at, died_at, size, answer,
                checksum, record) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """, .integer(deadLetter.dispatcher), .integer(deadLetter.sequenceNumber),
            .text(deadLetter.reason.rawValue),
            .optional(deadLetter.status), .integer(deadLetter.attempts),
            .integer(deadLetter.firstFailedAt.milliseconds),
            .integer(deadLetter.diedAt.milliseconds), .integer(deadLetter.record.count), .optional(deadLetter.answer),
            .number(SQLiteChecksum.of(deadLetter.record)), .blob(deadLetter.record))
        deadLetterTally += Tally(events: 1, bytes: deadLetter.record.count)
    }

    private func deleteDeadLetters(_ numbers: [DeadLetterNumber]) throws(SQLiteError) {
        guard !numbers.isEmpty else { return }
        for number in numbers { try connection.run("DELETE FROM dead_letters WHERE letter = ?", .integer(number)) }
        try countDeadLetters()
    }

    /// Drops the oldest dead letters until the others are within bounds. The newest one always stays.
    private func limitDeadLetters(to bounds: DeadLetterLimits, _ dropped: inout [DispatcherNumber: Int])
        throws(SQLiteError)
    {
        while deadLetterTally.events > 1, bounds.isExceeded(by: deadLetterTally) {
            var (number, dispatcher, size): (Int64, Int64, Int64) = (0, 0, 0)
            try connection.query("SELECT letter, dispatcher, size FROM dead_letters ORDER BY letter LIMIT 1") {
                row throws(SQLiteError) in
                (number, dispatcher, size) = (row.integer(0), row.integer(1), row.integer(2))
                return false
            }
            try connection.run("DELETE FROM dead_letters WHERE letter = ?", .integer(number))
            dropped[DispatcherNumber(truncatingIfNeeded: dispatcher), default: 0] += 1
            deadLetterTally -= Tally(events: 1, bytes: Int(size))
        }
    }

    private func countDeadLetters() throws(SQLiteError) {
        deadLetterTally = try SQLiteState(connection).deadLetterTally()
    }

    /// The condition of a query, with its values as ?1 to ?4.
    private static let matching = """
        letter > ?1 AND letter <= ?2 AND (?3 IS NULL OR dispatcher = ?3)
        AND (?4 IS NULL OR letter IN (SELECT value FROM json_each(?4)))
        """

    func readDeadLetters(_ query: DeadLetterQuery) -> Result<StoredDeadLetterPage, StoreFault> {
        attempt { () throws(SQLiteError) in
            var page = StoredDeadLetterPage(
                newest: try connection.integer("SELECT seq FROM sqlite_sequence WHERE name = 'dead_letters'"))
            try connection.query(
                """
                SELECT letter, dispatcher, seq, reason, status, attempts, first_failed_at, died_at, answer, checksum, record
                FROM dead_letters WHERE \(SQLiteTables.matching) ORDER BY letter
                """, .integer(query.after), .integer(query.through), .optional(query.dispatcher),
                .optional(query.numbersAsJSON)
            ) { row throws(SQLiteError) in
                guard let deadLetter = StoredDeadLetter(row) else { return true }
                return page.take(deadLetter, query)
            }
            return page
        }
    }

    func purgeDeadLetters(_ query: DeadLetterQuery) -> Result<Int, StoreFault> {
        attempt { () throws(SQLiteError) in
            var count = 0
            try connection.transaction { () throws(SQLiteError) in
                try connection.run(
                    """
                    DELETE FROM dead_letters WHERE letter IN
                        (SELECT letter FROM dead_letters WHERE \(SQLiteTables.matching) ORDER BY letter LIMIT ?5)
                    """, .integer(query.after), .integer(query.through), .optional(query.dispatcher),
                    .optional(query.numbersAsJSON), .integer(query.limit))
                count = Int(try connection.integer("SELECT changes()"))
            }
            try countDeadLetters()
            return count
        }
    }

    // MARK: Background work

    var hasBackgroundWork: Bool { !isPaused && trimThrough != nil }

    /// Resumes maintenance after a failure, because there are new jobs.
    func resumeBackgroundWork() { isPaused = false }

    /// Deletes some events that no dispatcher needs.
    func doBackgroundWork() {
        guard hasBackgroundWork, let through = trimThrough else { return }
        do throws(SQLiteError) {
            var count = 0
            try connection.transaction { () throws(SQLiteError) in
                try connection.run(
                    """
                    DELETE FROM events WHERE seq IN (SELECT seq FROM events INDEXED BY events_by_number WHERE seq <= ?
                        ORDER BY seq LIMIT \(SQLiteTables.trimStep))
                    """, .integer(through))
                count = Int(try connection.integer("SELECT changes()"))
            }
            if count < SQLiteTables.trimStep { trimThrough = nil }
        } catch {
            // It is tried again with the next jobs.
            isPaused = true
        }
    }

    /// The bytes of the files, rounded up to 64 KiB, so that not every commit changes the number.
    var diskBytes: Int {
        guard file != nil else { return 0 }
        let bytes = ["", "-wal", "-shm"].reduce(0) { $0 + SQLiteFile.size(options.path + $1) }
        return (bytes + 65_535) / 65_536 * 65_536
    }

    /// Moves SQLite's log into the file and closes it, so that only one file is left.
    func finish() {
        trimThrough = nil
        try? connection.emptyLog()
        connection.close()
    }
}
