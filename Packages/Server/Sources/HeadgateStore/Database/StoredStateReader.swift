import HeadgateCore
import HeadgateData

/// Reads what a database that has just been opened keeps (Behaviour Q6).
struct StoredStateReader {
    let connection: SQLiteConnection

    /// What the file keeps.
    /// - Parameter mostIDs: of the clients' ids, so many of the newest.
    func state(mostIDs: Int) throws(SQLiteError) -> (
        state: StoredState, damaged: [SequenceNumber]
    ) {
        var state = StoredState()
        state.routes = try routes()
        state.recentIDs = try recentIDs(most: mostIDs)
        state.kept = try kept()
        state.lastSequenceNumber = try lastSequenceNumber()
        state.newestStamp = try newestStamp()
        state.dispatchers = try dispatchers(through: state.lastSequenceNumber)
        var scan = BacklogScan(connection: connection)
        state.unsettled = try scan.count(state)
        return (state, scan.damaged)
    }

    private func dispatchers(
        through last: SequenceNumber
    ) throws(SQLiteError) -> [StoredDispatcher] {
        var dispatchers: [StoredDispatcher] = []
        try connection.query("SELECT number, id, position, ranges, orphaned_since FROM dispatchers ORDER BY number") {
            row throws(SQLiteError) in
            dispatchers.append(
                StoredDispatcher(
                    number: DispatcherNumber(truncatingIfNeeded: row.integer(0)), id: row.text(1),
                    settled: settled(row, through: last), orphanedSince: row.isNull(4) ? nil : row.integer(4)))
            return true
        }
        return dispatchers
    }

    /// Behind a position where there can be none, all is delivered again, which is better than lost.
    private func settled(_ row: SQLiteRow, through last: SequenceNumber) -> Settled {
        let position = row.integer(2)
        guard 0...last ~= position else { return Settled(through: 0) }
        return RangeBlob.decode(row.bytes(3), behind: position, through: last)
    }

    private func routes() throws(SQLiteError) -> [RouteNumber: [DispatcherNumber]] {
        var routes: [RouteNumber: [DispatcherNumber]] = [:]
        try connection.query(
            "SELECT number, dispatchers FROM routes WHERE number > ? AND number <= ?", .integer(RouteTable.nobody),
            .integer(RouteNumber.max)
        ) { row throws(SQLiteError) in
            let bytes = row.bytes(1)
            let size = MemoryLayout<DispatcherNumber>.size
            routes[RouteNumber(truncatingIfNeeded: row.integer(0))] = (0..<bytes.count / size).map {
                LittleEndian.load(bytes, at: $0 * size, as: DispatcherNumber.self)
            }
            return true
        }
        return routes
    }

    /// Reads back from the newest, and no further than it has to, however many there are (Behaviour Q7). A row whose form
    /// is not known holds nothing that could be compared.
    private func recentIDs(
        most: Int
    ) throws(SQLiteError) -> [RecentIDs] {
        var ids: [RecentIDs] = []
        var count = 0
        try connection.query(
            """
            SELECT last_seq, received_stamp, count, form, ids FROM recent_ids WHERE last_seq > 0 AND last_seq <= ?
            ORDER BY last_seq DESC
            """, .integer(StoreSchema.mostEvents)
        ) { row throws(SQLiteError) in
            guard count < most else { return false }
            guard let form = RecentIDs.Form(rawValue: row.integer(3)) else { return true }
            let group = RecentIDs(
                lastSequenceNumber: row.integer(0), receivedStamp: row.integer(1),
                count: Int(max(0, min(row.integer(2), Int64(Int32.max)))), form: form, bytes: row.blob(4))
            count += group.count
            ids.append(group)
            return true
        }
        return ids.reversed()
    }

    /// The newest group's row is always there. What older versions wrote does not know when it was received.
    private func newestStamp() throws(SQLiteError) -> Int64? {
        var newest: [Int64] = []
        for query in [
            "SELECT last_receipt FROM chunks ORDER BY last_seq DESC LIMIT 1",
            "SELECT received_stamp FROM recent_ids ORDER BY last_seq DESC LIMIT 1",
        ] {
            try connection.query(query) { row throws(SQLiteError) in
                newest.append(row.integer(0))
                return false
            }
        }
        return newest.filter { $0 < .max }.max()
    }

    private func kept() throws(SQLiteError) -> [String: [UInt8]] {
        var kept: [String: [UInt8]] = [:]
        try connection.query("SELECT name, value FROM kept") { row throws(SQLiteError) in
            kept[row.text(0)] = row.blob(1)
            return true
        }
        return kept
    }

    /// A group may have been put aside, and a number may live on in a position only.
    private func lastSequenceNumber() throws(SQLiteError) -> SequenceNumber {
        var last: SequenceNumber = 0
        for (table, column) in [
            ("chunks", "last_seq"), ("quarantined", "last_seq"), ("recent_ids", "last_seq"),
            ("dispatchers", "position"),
        ] {
            let query = "SELECT max(\(column)) FROM \(table) WHERE \(column) <= ?"
            last = max(last, try connection.integer(query, .integer(StoreSchema.mostEvents)))
        }
        return last
    }
}

/// Goes over the groups of a database that has just been opened, to count what is unsettled.
private struct BacklogScan {
    let connection: SQLiteConnection
    /// Groups that turned out to be damaged.
    private(set) var damaged: [SequenceNumber] = []

    init(connection: SQLiteConnection) {
        self.connection = connection
    }

    mutating func count(_ state: StoredState) throws(SQLiteError) -> [DispatcherNumber: RouteTallies] {
        var count = BacklogCount(dispatchers: state.dispatchers, routes: state.routes)
        // No two groups have an event of one number: what is counted would be more than there is.
        var behind = SequenceNumber.max
        try connection.query(
            "SELECT first_seq, last_seq, tallies FROM chunks INDEXED BY chunk_tallies ORDER BY first_seq DESC"
        ) { row throws(SQLiteError) in
            let (first, last) = (row.integer(0), row.integer(1))
            guard 1 <= first, first <= last, last <= state.lastSequenceNumber, last < behind else {
                damaged.append(last)
                return true
            }
            behind = first
            let group = try summary(row)
            try count.add(group) { isAsked throws(SQLiteError) in try tallies(of: group, where: isAsked) }
            return !count.isComplete
        }
        count.finish()
        return count.unsettled
    }

    private mutating func summary(_ row: SQLiteRow) throws(SQLiteError) -> GroupSummary {
        var group = GroupSummary(first: row.integer(0), last: row.integer(1), tallies: [:])
        if let tallies = TallyBlob.decode(row.bytes(2)) {
            group.tallies = tallies
        } else {
            group.tallies = try tallies(of: group) { _ in true }
        }
        return group
    }

    /// Counts some events of one group. Of a damaged one too, where its records hold as much as the index says: who misses these counts
    /// them as quarantined (Behaviour Q8).
    private mutating func tallies(
        of group: GroupSummary, where isAsked: (SequenceNumber) -> Bool
    ) throws(SQLiteError) -> RouteTallies {
        var events: Chunk?
        var isSound = false
        try connection.query("SELECT \(ChunkRow.columns) FROM chunks WHERE last_seq = ?", .integer(group.last)) {
            row throws(SQLiteError) in
            let row = ChunkRow(row)
            isSound = row.isSound
            events = Chunk(bytes: Array(row.records), lastSequenceNumber: group.last)
            return false
        }
        if !isSound, !damaged.contains(group.last) { damaged.append(group.last) }
        guard let events, isSound || RouteTallies(events) == group.tallies else { return [:] }
        return RouteTallies(events.filter { isAsked($0.sequenceNumber) })
    }
}

/// Counts what each dispatcher has not settled from what the groups say they hold, from the newest back: once past a
/// dispatcher's position, the sums so far are its own. One pass, whatever the number of dispatchers (Behaviour Q6).
struct BacklogCount {
    private let routes: [RouteNumber: [DispatcherNumber]]
    /// Those whose position is not reached, the highest last.
    private var waiting: [StoredDispatcher]
    private var totals = RouteTallies()
    /// Those that have settled ranges behind their position, and what the groups so far hold in these.
    private let gapped: [StoredDispatcher]
    private var settledBehind: [DispatcherNumber: RouteTallies] = [:]
    private(set) var unsettled: [DispatcherNumber: RouteTallies] = [:]

    init(dispatchers: [StoredDispatcher], routes: [RouteNumber: [DispatcherNumber]]) {
        self.routes = routes
        waiting = dispatchers.sorted { $0.position < $1.position }
        gapped = dispatchers.filter { !$0.settled.ranges.isEmpty }
    }

    /// Whether older groups make no difference.
    var isComplete: Bool { waiting.isEmpty }

    /// Takes in the next older group.
    /// - Parameter counting: what the group holds of some events.
    mutating func add<Fault>(_ group: GroupSummary, counting: GroupCounting<Fault>) throws(Fault) {
        try addSettled(group, counting)
        while let dispatcher = waiting.last, dispatcher.position >= group.first {
            waiting.removeLast()
            let isInside = dispatcher.position < group.last
            note(dispatcher.number, with: isInside ? try counting { $0 > dispatcher.position } : [:])
        }
        totals += group.tallies
    }

    /// There is no older group.
    mutating func finish() {
        for dispatcher in waiting { note(dispatcher.number, with: [:]) }
        waiting = []
    }

    /// A group that lies within a settled range needs not be looked into. The others are few: each holds an event that a
    /// dispatcher had in hand, or stands at the end of what it had read.
    private mutating func addSettled<Fault>(_ group: GroupSummary, _ counting: GroupCounting<Fault>) throws(Fault) {
        for dispatcher in gapped {
            let settled = dispatcher.settled
            let part: RouteTallies
            switch settled.overlap(with: group.first...max(group.first, group.last)) {
            case .none: continue
            case .whole: part = group.tallies
            case .part: part = try counting { $0 > settled.position && settled.contains($0) }
            }
            settledBehind[dispatcher.number, default: [:]] += part
        }
    }

    private mutating func note(_ dispatcher: DispatcherNumber, with rest: RouteTallies) {
        let settled = settledBehind[dispatcher] ?? [:]
        unsettled[dispatcher] = (totals + rest).filter { routes[$0]?.contains(dispatcher) == true } - settled
    }
}

/// Counts the events of a committed group whose sequence numbers are as asked.
typealias GroupCounting<Fault: Error> = ((SequenceNumber) -> Bool) throws(Fault) -> RouteTallies

/// What the index tells of a committed group.
struct GroupSummary {
    var first: SequenceNumber
    var last: SequenceNumber
    var tallies: RouteTallies
}
