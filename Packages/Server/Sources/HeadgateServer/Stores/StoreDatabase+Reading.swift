import HeadgateCore

extension StoreDatabase {
    /// Reads some rows behind a sequence number, none beyond `through`. What turns out to be damaged is put aside on
    /// the way (Behaviour Q8).
    func read(after: SequenceNumber, through: SequenceNumber) -> Result<Chunk?, StoreFault> {
        do throws(SQLiteError) {
            var place = after
            while true {
                let gathering = try gather(after: place, through: through)
                gathering.damaged.forEach(quarantine)
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

    /// Moves a damaged row out of the way. Where even that fails, it is skipped as long as the daemon runs.
    func quarantine(_ row: SequenceNumber) {
        let events = (try? countEvents(of: row)) ?? 0
        let isMoved =
            move(row, "SELECT last_seq, first_seq, tallies, checksum, records FROM chunks WHERE last_seq = ?")
            || move(row, "VALUES (?, NULL, NULL, NULL, NULL)")
        let isNew = isMoved ? unreadable.remove(row) == nil : unreadable.insert(row).inserted
        if isNew { countQuarantined(events) }
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
            events = TallyBlob.decode(row.bytes(0))?.reduce(0) { $0 + $1.tally.events } ?? 0
            return false
        }
        return events
    }
}
