import HeadgateCore
import HeadgateData

extension StoreDatabase {
    /// What the file keeps.
    /// - Parameter mostIDs: of the clients' ids, so many of the newest.
    static func state(of connection: SQLiteConnection, mostIDs: Int) throws(SQLiteError) -> (
        state: StoredState, damaged: [SequenceNumber]
    ) {
        var state = StoredState()
        state.routes = try routes(connection)
        state.recentIDs = try recentIDs(connection, most: mostIDs)
        state.kept = try kept(connection)
        state.lastSequenceNumber = try lastSequenceNumber(connection)
        state.newestStamp = try newestStamp(connection)
        state.dispatchers = try dispatchers(connection, through: state.lastSequenceNumber)
        var scan = BacklogScan(connection: connection)
        state.unsettled = try scan.count(state)
        return (state, scan.damaged)
    }

    private static func dispatchers(
        _ connection: SQLiteConnection, through last: SequenceNumber
    ) throws(SQLiteError) -> [StoredDispatcher] {
        var dispatchers: [StoredDispatcher] = []
        try connection.query("SELECT number, id, position, ranges, orphaned_since FROM dispatchers ORDER BY number") {
            row throws(SQLiteError) in
            dispatchers.append(
                StoredDispatcher(
                    number: DispatcherNumber(truncatingIfNeeded: row.integer(0)), id: row.text(1),
                    settled: RangeBlob.decode(row.bytes(3), behind: row.integer(2), through: last),
                    orphanedSince: row.isNull(4) ? nil : row.integer(4)))
            return true
        }
        return dispatchers
    }

    private static func routes(
        _ connection: SQLiteConnection
    ) throws(SQLiteError) -> [RouteNumber: [DispatcherNumber]] {
        var routes: [RouteNumber: [DispatcherNumber]] = [:]
        try connection.query("SELECT number, dispatchers FROM routes") { row throws(SQLiteError) in
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
    private static func recentIDs(
        _ connection: SQLiteConnection, most: Int
    ) throws(SQLiteError) -> [RecentIDs] {
        var ids: [RecentIDs] = []
        var count = 0
        try connection.query(
            "SELECT last_seq, received_stamp, count, form, ids FROM recent_ids ORDER BY last_seq DESC"
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
    private static func newestStamp(_ connection: SQLiteConnection) throws(SQLiteError) -> Int64? {
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

    private static func kept(_ connection: SQLiteConnection) throws(SQLiteError) -> [String: [UInt8]] {
        var kept: [String: [UInt8]] = [:]
        try connection.query("SELECT name, value FROM kept") { row throws(SQLiteError) in
            kept[row.text(0)] = row.blob(1)
            return true
        }
        return kept
    }

    /// A group may have been put aside, and a number may live on in a position only.
    private static func lastSequenceNumber(_ connection: SQLiteConnection) throws(SQLiteError) -> SequenceNumber {
        max(
            try connection.integer("SELECT max(last_seq) FROM chunks"),
            try connection.integer("SELECT max(last_seq) FROM quarantined"),
            try connection.integer("SELECT max(last_seq) FROM recent_ids"),
            try connection.integer("SELECT max(position) FROM dispatchers"))
    }
}
