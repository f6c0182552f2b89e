import HeadgateCore

extension StoreDatabase {
    /// Reads the groups of a stretch in which some events are too old, some at a time. Which these are is in the index.
    /// What turns out to be damaged is put aside on the way (Behaviour Q8).
    func readAged(_ stretch: AgedStretch) -> Result<Chunk?, StoreFault> {
        do throws(SQLiteError) {
            var stretch = stretch
            while true {
                let gathering = try gather(stretch)
                gathering.damaged.forEach(quarantine)
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
}
