import CXXHash
import Glibc
import HeadgateCore
import HeadgateData

/// The content of a database, as a start returns it.
struct SQLiteState {
    private let connection: SQLiteConnection

    init(_ connection: SQLiteConnection) {
        self.connection = connection
    }

    /// Reads the content.
    /// - Parameter mostIDs: the most ids of clients to read, the newest ones.
    func read(mostIDs: Int) throws(SQLiteError) -> StoredState {
        var state = StoredState()
        state.lastSequenceNumber = try lastSequenceNumber()
        let newest = try connection.integer("SELECT value FROM numbers WHERE name = 'newest_receipt'")
        if newest > 0 { state.newestStamp = newest }
        state.routes = try routes()
        state.kept = try kept()
        state.recentIDs = try recentIDs(most: mostIDs)
        state.dispatchers = try dispatchers(through: state.lastSequenceNumber)
        state.deadLetterTally = try deadLetterTally()
        for dispatcher in state.dispatchers {
            state.unsettled[dispatcher.number] = try unsettled(dispatcher, state.routes)
        }
        return state
    }

    /// Returns the highest number that any table mentions: an event can be gone while a position still mentions it.
    private func lastSequenceNumber() throws(SQLiteError) -> SequenceNumber {
        var last: SequenceNumber = 0
        for query in [
            "SELECT value FROM numbers WHERE name = 'last_seq'", "SELECT max(seq) FROM events",
            "SELECT max(last_seq) FROM recent_ids", "SELECT max(position) FROM dispatchers",
            "SELECT max(seq) FROM dead_letters",
        ] { last = max(last, min(try connection.integer(query), SQLiteState.mostEvents)) }
        return last
    }

    /// The highest number of an event. A higher number is damage, and counting on from it could overflow.
    private static let mostEvents: SequenceNumber = 1 << 62

    private func routes() throws(SQLiteError) -> [RouteNumber: [DispatcherNumber]] {
        var routes: [RouteNumber: [DispatcherNumber]] = [:]
        try connection.query(
            "SELECT number, dispatchers FROM routes WHERE number > 0 AND number <= ?", .integer(RouteNumber.max)
        ) { row throws(SQLiteError) in
            routes[RouteNumber(truncatingIfNeeded: row.integer(0))] = SQLiteLists.numbers(row.text(1))
            return true
        }
        return routes
    }

    private func kept() throws(SQLiteError) -> [String: [UInt8]] {
        var kept: [String: [UInt8]] = [:]
        try connection.query("SELECT name, value FROM kept") { row throws(SQLiteError) in
            kept[row.text(0)] = row.blob(1)
            return true
        }
        return kept
    }

    /// Reads the newest ids, and no more than necessary (Behaviour Q7).
    private func recentIDs(most: Int) throws(SQLiteError) -> [RecentIDs] {
        var (ids, count): ([RecentIDs], Int) = ([], 0)
        try connection.query("SELECT last_seq, received, count, form, ids FROM recent_ids ORDER BY last_seq DESC") {
            row throws(SQLiteError) in
            guard count < most else { return false }
            guard let form = RecentIDs.Form(rawValue: row.integer(3)) else { return true }
            ids.append(
                RecentIDs(
                    lastSequenceNumber: row.integer(0), receivedStamp: row.integer(1),
                    count: Int(max(0, min(row.integer(2), Int64(Int32.max)))), form: form, bytes: row.blob(4)))
            count += ids.last?.count ?? 0
            return true
        }
        return ids.reversed()
    }

    private func dispatchers(through last: SequenceNumber) throws(SQLiteError) -> [StoredDispatcher] {
        var dispatchers: [StoredDispatcher] = []
        try connection.query("SELECT number, id, position, settled, orphaned_since FROM dispatchers ORDER BY number") {
            row throws(SQLiteError) in
            // With an impossible position all events are delivered again, which is better than losing them.
            let position = 0...last ~= row.integer(2) ? row.integer(2) : 0
            dispatchers.append(
                StoredDispatcher(
                    number: DispatcherNumber(truncatingIfNeeded: row.integer(0)), id: row.text(1),
                    settled: Settled(
                        through: position, and: SQLiteLists.ranges(row.text(3), in: position + 1...last + 1)),
                    orphanedSince: row.isNull(4) ? nil : row.integer(4)))
            return true
        }
        return dispatchers
    }

    func deadLetterTally() throws(SQLiteError) -> Tally {
        Tally(
            events: Int(try connection.integer("SELECT count(*) FROM dead_letters")),
            bytes: Int(try connection.integer("SELECT coalesce(sum(size), 0) FROM dead_letters")))
    }

    private func unsettled(
        _ dispatcher: StoredDispatcher, _ routes: [RouteNumber: [DispatcherNumber]]
    ) throws(SQLiteError) -> RouteTallies {
        var tallies = try self.tallies(behind: dispatcher.position, through: .max)
        for range in dispatcher.settled.ranges {
            tallies = tallies - (try self.tallies(behind: range.lowerBound - 1, through: range.upperBound))
        }
        return tallies.filter { routes[$0]?.contains(dispatcher.number) == true }
    }

    private func tallies(behind number: SequenceNumber, through last: SequenceNumber) throws(SQLiteError)
        -> RouteTallies
    {
        var tallies = RouteTallies()
        try connection.query(
            """
            SELECT route, count(*), sum(size) FROM events INDEXED BY events_by_number
            WHERE seq > ? AND seq <= ? GROUP BY route
            """, .integer(number), .integer(last)
        ) { row throws(SQLiteError) in
            tallies.add(
                Tally(events: Int(row.integer(1)), bytes: Int(row.integer(2))),
                route: RouteNumber(truncatingIfNeeded: row.integer(0)))
            return true
        }
        return tallies
    }
}

/// Lists of numbers as text that people can read: `3,5` and `7-9,12-12`.
enum SQLiteLists {
    static func text(_ numbers: [DispatcherNumber]) -> String { numbers.map(String.init).joined(separator: ",") }

    static func numbers(_ text: String) -> [DispatcherNumber] {
        text.split(separator: ",").compactMap { DispatcherNumber($0) }
    }

    static func text(_ ranges: [ClosedRange<SequenceNumber>]) -> String {
        ranges.map { "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: ",")
    }

    /// Returns the ranges that are within bounds and follow each other. The others count as not settled: their events
    /// are delivered again, which is better than losing them.
    static func ranges(
        _ text: String, in bounds: ClosedRange<SequenceNumber>
    ) -> [ClosedRange<SequenceNumber>] {
        var (ranges, end): ([ClosedRange<SequenceNumber>], SequenceNumber) = ([], bounds.lowerBound)
        for piece in text.split(separator: ",") {
            let numbers = piece.split(separator: "-").compactMap { SequenceNumber($0) }
            guard numbers.count == 2, end <= numbers[0], numbers[0] <= numbers[1], numbers[1] < bounds.upperBound
            else { break }
            ranges.append(numbers[0]...numbers[1])
            end = numbers[1] + 1
        }
        return ranges
    }
}

/// The checksum of a row, which shows whether it is as it was written.
enum SQLiteChecksum {
    static func of(_ event: EventPieces) -> Int64 { of(event.record) }

    static func of(_ record: [UInt8]) -> Int64 {
        record.withUnsafeBytes { Int64(bitPattern: XXH3_64bits($0.baseAddress, $0.count)) }
    }
}

extension StoredDispatcher {
    /// The values of the dispatcher's row.
    var row: [SQLiteValue] {
        [
            .integer(number), .text(id), .integer(position), .text(SQLiteLists.text(settled.ranges)),
            .optional(orphanedSince),
        ]
    }
}

extension StoredDeadLetter {
    /// Reads a row. Returns nil if the row is damaged, so that its reason is unknown. If only its record is damaged, the
    /// dead letter has no event (Behaviour Q8).
    init?(_ row: SQLiteRow) {
        guard let reason = DeadLetter.Reason(rawValue: row.text(3)) else { return nil }
        let record = row.blob(10)
        self.init(
            number: row.integer(0),
            deadLetter: DeadLetter(
                dispatcher: DispatcherNumber(truncatingIfNeeded: row.integer(1)), sequenceNumber: row.integer(2),
                reason: reason, status: row.isNull(4) ? nil : Int(row.integer(4)),
                answer: row.isNull(8) ? nil : row.text(8), attempts: Int(row.integer(5)),
                firstFailedAt: Timestamp(milliseconds: row.integer(6)),
                diedAt: Timestamp(milliseconds: row.integer(7)),
                record: SQLiteChecksum.of(record) == row.integer(9) ? record : []))
    }
}

extension DeadLetterQuery {
    /// The numbers as an array in JSON, the form in which SQLite takes a list.
    var numbersAsJSON: String? {
        numbers.map { "[" + $0.map(String.init).joined(separator: ",") + "]" }
    }
}

extension GroupAges {
    /// Creates the ages of one event.
    /// - Parameter expires: the time of expiry; 0 for never.
    init(received: Int64, expires: Int64) {
        self.init(
            firstReceipt: received, lastReceipt: received, firstExpiry: expires == 0 ? .max : expires,
            lastExpiry: expires == 0 ? .min : expires)
    }
}

/// The identity of a file, independent of its name.
struct SQLiteFile: Equatable {
    private let device: dev_t
    private let number: ino_t

    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        (device, number) = (status.st_dev, status.st_ino)
    }

    /// Returns the size of a file in bytes; 0 if there is none.
    static func size(_ path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }
}
