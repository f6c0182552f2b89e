import HeadgateCore

extension StoreDatabase {
    /// Whether ``doChores()`` has something to do.
    var hasChores: Bool { chores.isDue }

    /// Deletes some of what nobody needs any more.
    func doChores() {
        guard chores.isDue else { return }
        do throws(SQLiteError) {
            try setSyncing(false)
            if let through = chores.trimThrough { try trim(through: through) }
            if let through = chores.forgetThrough { try forgetIDs(through: through) }
        } catch {
            chores.pause()
        }
    }

    /// Deletes some groups; the highest row stays, so that its sequence number is never given again.
    private func trim(through: SequenceNumber) throws(SQLiteError) {
        var step = ChoreStep()
        try connection.query(
            """
            SELECT last_seq, length(records) FROM chunks
            WHERE last_seq > ? AND last_seq <= ? AND last_seq < (SELECT max(last_seq) FROM chunks) ORDER BY last_seq
            """, .integer(chores.trimmed), .integer(through)
        ) { row throws(SQLiteError) in
            step.take(row.integer(0), bytes: Int(row.integer(1)))
        }
        do throws(SQLiteError) {
            try connection.run(
                "DELETE FROM chunks WHERE last_seq > ? AND last_seq <= ?", .integer(chores.trimmed),
                .integer(step.last))
        } catch {
            guard error.isDamage else { throw error }
            try trimRowByRow(through: step.last)
        }
        chores.trimmed(step)
    }

    /// Deletes what can be deleted; a row on damaged pages must not keep those behind it.
    private func trimRowByRow(through: SequenceNumber) throws(SQLiteError) {
        var rows: [SequenceNumber] = []
        try connection.query(
            "SELECT last_seq FROM chunks WHERE last_seq > ? AND last_seq <= ?", .integer(chores.trimmed),
            .integer(through)
        ) { row throws(SQLiteError) in
            rows.append(row.integer(0))
            return true
        }
        for row in rows {
            try? connection.run("DELETE FROM chunks WHERE last_seq = ?", .integer(row))
        }
    }

    /// Deletes some rows of ids. They are small: there may be one for each event.
    private func forgetIDs(through: SequenceNumber) throws(SQLiteError) {
        var step = ChoreStep(mostRows: 512)
        try connection.query(
            "SELECT last_seq, length(ids) FROM recent_ids WHERE last_seq <= ? ORDER BY last_seq", .integer(through)
        ) { row throws(SQLiteError) in
            step.take(row.integer(0), bytes: Int(row.integer(1)))
        }
        if step.last > 0 {
            try connection.run("DELETE FROM recent_ids WHERE last_seq <= ?", .integer(step.last))
        }
        chores.forgot(step)
    }
}
