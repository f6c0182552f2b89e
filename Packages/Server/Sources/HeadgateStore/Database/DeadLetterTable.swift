import HeadgateCore
import HeadgateData

/// The dead letters, a row each (Behaviour D10).
final class DeadLetterTable {
    private let connection: SQLiteConnection
    /// All of them, and the bytes of their events; nil while it is not known.
    private var room: Tally?
    /// What was last known of that.
    private var lastRoom = Tally.zero

    /// Letters that had to make room since this was last taken, by dispatcher; also where that is not committed yet.
    private var dropped: [DispatcherNumber: Int] = [:]

    init(_ connection: SQLiteConnection) {
        self.connection = connection
    }

    /// All of them, and the bytes of their events; where they cannot be counted, as they were before.
    var tally: Tally {
        if room == nil { room = try? countDeadLetters() }
        lastRoom = room ?? lastRoom
        return lastRoom
    }

    /// What was changed is not committed: they are counted anew.
    func rolledBack() {
        room = nil
        dropped = [:]
    }

    /// What was changed is committed.
    /// - Returns: how many letters had to make room, by dispatcher.
    func committed() -> [DispatcherNumber: Int] {
        defer { dropped = [:] }
        return dropped
    }

    // MARK: Putting aside

    /// Puts a dead letter aside.
    /// - Parameter number: nil is the next.
    func save(_ letter: DeadLetter, under number: LetterNumber? = nil) throws(SQLiteError) {
        let room = try countDeadLetters()
        try insert(letter, under: number)
        self.room = room + Tally(events: 1, bytes: letter.record.count)
    }

    /// Drops the oldest letters until the others are within bounds; the newest stays in any case.
    func limit(to bounds: LetterBounds) throws(SQLiteError) {
        var room = try countDeadLetters()
        while room.events > 1, bounds.isExceeded(by: room) { try dropOldest(&room) }
        self.room = room
    }

    private func insert(_ letter: DeadLetter, under number: LetterNumber?) throws(SQLiteError) {
        try connection.run(
            """
            INSERT INTO dead_letters
                (letter, dispatcher, seq, reason, status, attempts, first_failed_at, died_at, size, answer, checksum, record)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """, .optional(number), .integer(letter.dispatcher), .integer(letter.sequenceNumber),
            .text(letter.reason.rawValue),
            .optional(letter.status), .integer(letter.attempts), .integer(letter.firstFailedAt.milliseconds),
            .integer(letter.diedAt.milliseconds), .integer(letter.record.count), .optional(letter.answer),
            .integer(letter.record.withUnsafeBytes { DeadLetter.checksum(letter.sequenceNumber, $0) }),
            .blob(letter.record))
    }

    /// A size that makes no sense counts as one that adds up (Behaviour Q8).
    private static let size = "max(0, min(size, 4294967296))"

    private func countDeadLetters() throws(SQLiteError) -> Tally {
        if let room { return room }
        return Tally(
            events: Int(try connection.integer("SELECT count(*) FROM dead_letters")),
            bytes: Int(try connection.integer("SELECT sum(\(DeadLetterTable.size)) FROM dead_letters")))
    }

    private func dropOldest(_ room: inout Tally) throws(SQLiteError) {
        let letter = try connection.integer("SELECT min(letter) FROM dead_letters")
        let dispatcher = try connection.integer(
            "SELECT dispatcher FROM dead_letters WHERE letter = ?", .integer(letter))
        dropped[DispatcherNumber(truncatingIfNeeded: dispatcher), default: 0] += 1
        room.events -= 1
        room.bytes -= Int(
            try connection.integer(
                "SELECT \(DeadLetterTable.size) FROM dead_letters WHERE letter = ?", .integer(letter)))
        try connection.run("DELETE FROM dead_letters WHERE letter = ?", .integer(letter))
    }

    // MARK: Reading and deleting

    /// What a query means, with its values as ?1 to ?4.
    private static let meant = """
        letter > ?1 AND letter <= ?2 AND (?3 IS NULL OR dispatcher = ?3)
        AND (?4 IS NULL OR letter IN (SELECT value FROM json_each(?4)))
        """

    /// Reads a page of dead letters, the oldest first.
    func read(_ query: LetterQuery) -> Result<LetterPage, StoreFault> {
        do throws(SQLiteError) {
            var page = LetterPage(newest: try newestLetter)
            try connection.query(
                """
                SELECT letter, dispatcher, seq, reason, status, attempts, first_failed_at, died_at, answer, checksum,
                    record
                FROM dead_letters WHERE \(DeadLetterTable.meant) ORDER BY letter
                """, .integer(query.after), .integer(query.through), .optional(query.dispatcher),
                .optional(query.numbersAsJSON)
            ) { row throws(SQLiteError) in
                guard let letter = StoredLetter(row) else { return true }
                return page.take(letter, query)
            }
            return .success(page)
        } catch {
            return .failure(error.fault)
        }
    }

    /// Deletes dead letters, the oldest first.
    func purge(_ query: LetterQuery) -> Result<Int, StoreFault> {
        do throws(SQLiteError) {
            try connection.setSyncing(false)
            room = nil
            try connection.run(
                """
                DELETE FROM dead_letters WHERE letter IN
                    (SELECT letter FROM dead_letters WHERE \(DeadLetterTable.meant) ORDER BY letter LIMIT ?5)
                """, .integer(query.after), .integer(query.through), .optional(query.dispatcher),
                .optional(query.numbersAsJSON), .integer(query.limit))
            return .success(Int(try connection.integer("SELECT changes()")))
        } catch {
            return .failure(error.fault)
        }
    }

    /// Deletes the letters whose events are in the queue again, in the transaction that puts them there.
    func remove(_ letters: [LetterNumber]) throws(SQLiteError) {
        guard !letters.isEmpty else { return }
        room = nil
        for letter in letters {
            try connection.run("DELETE FROM dead_letters WHERE letter = ?", .integer(letter))
        }
    }

    /// Deletes the letters of a dispatcher that is forgotten: nobody could send them any more.
    func forget(_ dispatcher: DispatcherNumber) throws(SQLiteError) {
        try connection.run("DELETE FROM dead_letters WHERE dispatcher = ?", .integer(dispatcher))
        room = nil
    }

    /// The highest number that was given, also where its letter is gone.
    private var newestLetter: LetterNumber {
        get throws(SQLiteError) {
            try connection.integer("SELECT seq FROM sqlite_sequence WHERE name = 'dead_letters'")
        }
    }
}

extension LetterQuery {
    /// The numbers as an array in JSON, the form in which SQLite takes a list.
    fileprivate var numbersAsJSON: String? {
        letters.map { "[" + $0.map(String.init).joined(separator: ",") + "]" }
    }
}

extension StoredLetter {
    /// Nil for a reason that there is not: the row is damaged. Where only its record is, the rest is told (Behaviour Q8).
    fileprivate init?(_ row: SQLiteRow) {
        guard let reason = DeadLetter.Reason(rawValue: row.text(3)) else { return nil }
        let sequenceNumber = row.integer(2)
        let record = row.bytes(10)
        let isSound = DeadLetter.checksum(sequenceNumber, record) == row.integer(9)
        self.init(
            number: row.integer(0),
            letter: DeadLetter(
                dispatcher: DispatcherNumber(truncatingIfNeeded: row.integer(1)), sequenceNumber: sequenceNumber,
                reason: reason, status: row.isNull(4) ? nil : Int(row.integer(4)),
                answer: row.isNull(8) ? nil : row.text(8), attempts: Int(row.integer(5)),
                firstFailedAt: Timestamp(milliseconds: row.integer(6)),
                diedAt: Timestamp(milliseconds: row.integer(7)), record: isSound ? Array(record) : []))
    }
}

extension DeadLetter {
    /// Tells whether a record is as it was written.
    static func checksum(_ sequenceNumber: SequenceNumber, _ record: UnsafeRawBufferPointer) -> Int64 {
        ChunkChecksum.of(sequenceNumber, tallies: UnsafeRawBufferPointer(start: nil, count: 0), records: record)
    }
}
