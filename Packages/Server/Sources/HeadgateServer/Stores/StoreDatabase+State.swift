import HeadgateCore

extension StoreDatabase {
    /// What the file keeps.
    static func state(of connection: SQLiteConnection) throws(SQLiteError) -> (
        state: StoredState, damaged: [SequenceNumber]
    ) {
        var state = StoredState()
        state.routes = try routes(connection)
        state.recentIDs = try recentIDs(connection)
        state.kept = try kept(connection)
        state.lastSequenceNumber = try lastSequenceNumber(connection)
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

    private static func recentIDs(_ connection: SQLiteConnection) throws(SQLiteError) -> [RecentIDs] {
        var ids: [RecentIDs] = []
        try connection.query("SELECT last_seq, received_stamp, count, ids FROM recent_ids ORDER BY last_seq") {
            row throws(SQLiteError) in
            ids.append(
                RecentIDs(
                    lastSequenceNumber: row.integer(0), receivedStamp: row.integer(1), count: Int(row.integer(2)),
                    bytes: row.blob(3)))
            return true
        }
        return ids
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
