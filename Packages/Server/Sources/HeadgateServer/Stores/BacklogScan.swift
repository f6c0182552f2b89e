import HeadgateCore

/// Goes over the groups of a database that has just been opened, to count what is unsettled.
struct BacklogScan {
    let connection: SQLiteConnection
    /// Groups that turned out to be damaged.
    private(set) var damaged: [SequenceNumber] = []

    init(connection: SQLiteConnection) {
        self.connection = connection
    }

    mutating func count(_ state: StoredState) throws(SQLiteError) -> [DispatcherNumber: [RouteNumber: Tally]] {
        var count = BacklogCount(dispatchers: state.dispatchers, routes: state.routes)
        try connection.query(
            "SELECT first_seq, last_seq, tallies FROM chunks INDEXED BY chunk_tallies ORDER BY first_seq DESC"
        ) { row throws(SQLiteError) in
            let group = try summary(row)
            try count.add(group) { isAsked throws(SQLiteError) in try tallies(of: group.last, where: isAsked) }
            return !count.isComplete
        }
        count.finish()
        return count.unsettled
    }

    private mutating func summary(_ row: SQLiteRow) throws(SQLiteError) -> GroupSummary {
        var group = GroupSummary(first: row.integer(0), last: row.integer(1), tallies: [:])
        if let entries = TallyBlob.decode(row.bytes(2)) {
            for (route, tally) in entries { group.tallies[route, default: .zero] += tally }
        } else {
            group.tallies = try tallies(of: group.last) { _ in true }
        }
        return group
    }

    /// Counts some events of one group.
    private mutating func tallies(
        of last: SequenceNumber, where isAsked: (SequenceNumber) -> Bool
    ) throws(SQLiteError) -> [RouteNumber: Tally] {
        var tallies: [RouteNumber: Tally] = [:]
        var isSound = false
        try connection.query("SELECT \(ChunkRow.columns) FROM chunks WHERE last_seq = ?", .integer(last)) {
            row throws(SQLiteError) in
            let row = ChunkRow(row)
            isSound = row.isSound
            guard isSound else { return false }
            for event in Chunk(bytes: Array(row.records), lastSequenceNumber: last)
            where isAsked(event.sequenceNumber) {
                tallies[event.route, default: .zero] += Tally(events: 1, bytes: event.byteCount)
            }
            return false
        }
        if !isSound, !damaged.contains(last) { damaged.append(last) }
        return tallies
    }
}
