import HeadgateCore

/// What may be deleted, and has not been yet. It is done in small steps, so that no append waits long for it.
final class StoreChores {
    private let connection: SQLiteConnection
    /// Groups up to here may go.
    private var trimThrough: SequenceNumber?
    /// Ids of events up to here may go.
    private var forgetThrough: SequenceNumber?
    /// Groups up to here are gone, or cannot be deleted.
    private var trimmed: SequenceNumber = 0
    private var isPaused = false

    init(_ connection: SQLiteConnection) {
        self.connection = connection
    }

    /// Whether there is something to do now.
    var isDue: Bool {
        !isPaused && (trimThrough != nil || forgetThrough != nil)
    }

    /// Takes note of a change that makes room.
    func note(_ change: StoreChange) {
        switch change {
        case .trim(let through): trimThrough = max(through, trimThrough ?? through)
        case .forgetIDs(let through): forgetThrough = max(through, forgetThrough ?? through)
        default: break
        }
    }

    /// There are new jobs: what failed is tried again.
    func resume() {
        isPaused = false
    }

    /// Deletes some of what nobody needs any more.
    func doSome() {
        guard isDue else { return }
        do throws(SQLiteError) {
            try connection.setSyncing(false)
            if let through = trimThrough { try trim(through: through) }
            if let through = forgetThrough { try forgetIDs(through: through) }
        } catch {
            // It is tried again with the next jobs, not over and over.
            isPaused = true
        }
    }

    /// Deletes some groups; the highest row stays, so that its sequence number is never given again.
    private func trim(through: SequenceNumber) throws(SQLiteError) {
        var step = ChoreStep()
        try connection.query(
            """
            SELECT last_seq, length(records) FROM chunks
            WHERE last_seq > ? AND last_seq <= ? AND last_seq < (SELECT max(last_seq) FROM chunks) ORDER BY last_seq
            """, .integer(trimmed), .integer(through)
        ) { row throws(SQLiteError) in
            step.take(row.integer(0), bytes: Int(row.integer(1)))
        }
        do throws(SQLiteError) {
            try connection.run(
                "DELETE FROM chunks WHERE last_seq > ? AND last_seq <= ?", .integer(trimmed),
                .integer(step.last))
        } catch {
            guard error.isDamage else { throw error }
            try trimRowByRow(through: step.last)
        }
        trimmed = max(trimmed, step.last)
        if step.isLast { trimThrough = nil }
    }

    /// Deletes what can be deleted; a row on damaged pages must not keep those behind it.
    private func trimRowByRow(through: SequenceNumber) throws(SQLiteError) {
        var rows: [SequenceNumber] = []
        try connection.query(
            "SELECT last_seq FROM chunks WHERE last_seq > ? AND last_seq <= ?", .integer(trimmed),
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
        if step.isLast { forgetThrough = nil }
    }
}

/// A bounded piece of a chore.
private struct ChoreStep {
    /// The last row that goes; 0 when none does.
    private(set) var last: SequenceNumber = 0
    private var rows = 0
    private let mostRows: Int
    private var bytes = 0
    /// Whether nothing is left for another step.
    private(set) var isLast = true

    private static let mostBytes = 4 << 20

    init(mostRows: Int = 64) {
        self.mostRows = mostRows
    }

    /// Takes a row in.
    /// - Returns: whether there is room for more.
    mutating func take(_ row: SequenceNumber, bytes size: Int) -> Bool {
        last = row
        rows += 1
        bytes += size
        isLast = rows < mostRows && bytes < ChoreStep.mostBytes
        return isLast
    }
}
