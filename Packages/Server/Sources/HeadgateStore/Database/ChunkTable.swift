import HeadgateCore

/// The committed groups of events, a row each: reads them, and puts aside what turns out to be damaged on the way
/// (Behaviour Q8).
final class ChunkTable {
    private let connection: SQLiteConnection
    /// Groups that can neither be read nor put aside.
    private var unreadable: Set<SequenceNumber> = []
    private var quarantinedEvents = 0

    init(_ connection: SQLiteConnection) {
        self.connection = connection
    }

    // MARK: Reading on

    /// Reads some rows behind a sequence number, none beyond `through`.
    func read(after: SequenceNumber, through: SequenceNumber) -> Result<Chunk?, StoreFault> {
        do throws(SQLiteError) {
            var place = after
            while true {
                let gathering = try gather(after: place, through: through)
                for row in gathering.damaged { quarantine(row) }
                if let chunk = gathering.chunk { return .success(chunk) }
                guard gathering.last > place else { return .success(nil) }
                place = gathering.last
            }
        } catch {
            return .failure(error.fault)
        }
    }

    private func gather(
        after: SequenceNumber, through: SequenceNumber
    ) throws(SQLiteError) -> ChunkGathering {
        var gathering = ChunkGathering(after: after)
        do throws(SQLiteError) {
            try connection.query(
                "SELECT \(ChunkRow.columns) FROM chunks WHERE last_seq > ? AND last_seq <= ? ORDER BY last_seq",
                .integer(after), .integer(through)
            ) { row throws(SQLiteError) in
                gathering.take(ChunkRow(row))
            }
        } catch {
            guard error.isDamage, let row = try row(behind: gathering.last), row <= through else { throw error }
            gathering.takeDamaged(row)
        }
        return gathering
    }

    /// The row behind a sequence number, by the index alone: the table is damaged there.
    private func row(behind sequenceNumber: SequenceNumber) throws(SQLiteError) -> SequenceNumber? {
        let row = try connection.integer(
            "SELECT min(last_seq) FROM chunks INDEXED BY chunk_tallies WHERE last_seq > ?", .integer(sequenceNumber))
        return row > sequenceNumber ? row : nil
    }

    // MARK: What is too old

    /// Reads the groups of a stretch in which some events are too old, some at a time. Which these are is in the index.
    func readAged(_ stretch: AgedStretch) -> Result<Chunk?, StoreFault> {
        do throws(SQLiteError) {
            var stretch = stretch
            while true {
                let gathering = try gather(stretch)
                for row in gathering.damaged { quarantine(row) }
                if let chunk = gathering.chunk { return .success(chunk) }
                guard gathering.last > stretch.after else { return .success(nil) }
                stretch.after = gathering.last
            }
        } catch {
            return .failure(error.fault)
        }
    }

    private func gather(_ stretch: AgedStretch) throws(SQLiteError) -> ChunkGathering {
        var gathering = ChunkGathering(after: stretch.after)
        for row in try agedRows(stretch) {
            guard try take(row, into: &gathering) else { break }
        }
        return gathering
    }

    /// - Returns: whether there is room for more.
    private func take(_ row: SequenceNumber, into gathering: inout ChunkGathering) throws(SQLiteError) -> Bool {
        var hasRoom = true
        do throws(SQLiteError) {
            try connection.query(
                "SELECT \(ChunkRow.columns) FROM chunks WHERE last_seq = ?", .integer(row)
            ) { row throws(SQLiteError) in
                hasRoom = gathering.take(ChunkRow(row))
                return false
            }
        } catch {
            guard error.isDamage else { throw error }
            gathering.takeDamaged(row)
        }
        return hasRoom
    }

    /// The rows to look into, by the index alone: it is small, and does not suffer when the table is damaged.
    private func agedRows(_ stretch: AgedStretch) throws(SQLiteError) -> [SequenceNumber] {
        // The stretch may begin inside a group.
        let first = try connection.integer(
            "SELECT max(first_seq) FROM chunks INDEXED BY chunk_tallies WHERE first_seq <= ?",
            .integer(stretch.after + 1))
        var rows: [SequenceNumber] = []
        try connection.query(
            """
            SELECT last_seq FROM chunks INDEXED BY chunk_tallies
            WHERE first_seq >= ? AND first_seq <= ? AND last_seq > ? AND (
                (first_receipt <= ? AND last_receipt > ?) OR (first_expiry <= ? AND last_expiry > ?))
            ORDER BY first_seq
            """, .integer(first), .integer(stretch.through), .integer(stretch.after),
            .integer(stretch.limit.receivedBy), .integer(stretch.earlier?.receivedBy ?? .min),
            .integer(stretch.limit.endedBy), .integer(stretch.earlier?.endedBy ?? .min)
        ) { row throws(SQLiteError) in
            rows.append(row.integer(0))
            return rows.count < ChunkGathering.mostRows
        }
        return rows
    }

    // MARK: Damage

    /// Moves a damaged row out of the way. Where even that fails, it is skipped as long as the daemon runs.
    func quarantine(_ row: SequenceNumber) {
        let events = (try? countEvents(of: row)) ?? 0
        let isMoved =
            move(row, "SELECT last_seq, first_seq, tallies, checksum, records FROM chunks WHERE last_seq = ?")
            || move(row, "VALUES (?, NULL, NULL, NULL, NULL)")
        let isNew = isMoved ? unreadable.remove(row) == nil : unreadable.insert(row).inserted
        if isNew { quarantinedEvents += events }
    }

    private func move(_ row: SequenceNumber, _ source: String) -> Bool {
        do throws(SQLiteError) {
            try connection.transaction { () throws(SQLiteError) in
                try connection.run("INSERT OR REPLACE INTO quarantined \(source)", .integer(row))
                try connection.run("DELETE FROM chunks WHERE last_seq = ?", .integer(row))
                try connection.run(
                    """
                    DELETE FROM quarantined WHERE last_seq NOT IN
                        (SELECT last_seq FROM quarantined ORDER BY last_seq DESC LIMIT ?)
                    """, .integer(StoreSchema.mostQuarantined))
            }
            return true
        } catch {
            return false
        }
    }

    /// The index has a copy of what the row holds.
    private func countEvents(of row: SequenceNumber) throws(SQLiteError) -> Int {
        var events = 0
        try connection.query(
            "SELECT tallies FROM chunks INDEXED BY chunk_tallies WHERE last_seq = ?", .integer(row)
        ) { row throws(SQLiteError) in
            events = TallyBlob.decode(row.bytes(0))?.total.events ?? 0
            return false
        }
        return events
    }

    /// How many events were put aside since this was last asked.
    func takeQuarantined() -> Int {
        defer { quarantinedEvents = 0 }
        return quarantinedEvents
    }
}

/// Rows that are read at once and handed out as one chunk: a backlog of lone events is not one job an event.
private struct ChunkGathering {
    private var bytes: [UInt8] = []
    private var rows = 0
    /// The last row that was looked at.
    private(set) var last: SequenceNumber
    /// Rows whose contents are not what was written.
    private(set) var damaged: [SequenceNumber] = []

    private static let mostBytes = 128 << 10
    static let mostRows = 512

    init(after sequenceNumber: SequenceNumber) {
        last = sequenceNumber
    }

    /// What was gathered; nil when it is nothing.
    var chunk: Chunk? {
        bytes.isEmpty ? nil : Chunk(bytes: bytes, lastSequenceNumber: last)
    }

    /// Takes a row in.
    /// - Returns: whether there is room for more.
    mutating func take(_ row: ChunkRow) -> Bool {
        last = row.last
        rows += 1
        if row.isSound { bytes += row.records } else { damaged.append(row.last) }
        return rows < ChunkGathering.mostRows && bytes.count < ChunkGathering.mostBytes
    }

    /// A row could not even be read.
    mutating func takeDamaged(_ row: SequenceNumber) {
        last = row
        damaged.append(row)
    }
}

/// One committed group, while a query stands at it.
struct ChunkRow {
    /// The columns, in the order that ``init(_:)`` reads them.
    static let columns = "last_seq, tallies, checksum, records"

    let last: SequenceNumber
    let records: UnsafeRawBufferPointer
    /// Whether the row is as it was written.
    let isSound: Bool

    init(_ row: SQLiteRow) {
        last = row.integer(0)
        records = row.bytes(3)
        isSound = ChunkChecksum.of(last, tallies: row.bytes(1), records: records) == row.integer(2)
    }
}
