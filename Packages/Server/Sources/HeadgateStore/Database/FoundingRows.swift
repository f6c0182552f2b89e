import HeadgateCore
import HeadgateData

/// The rows that a database begins with.
struct FoundingRows {
    let connection: SQLiteConnection

    func insert(_ founding: Founding) throws(SQLiteError) {
        for dispatcher in founding.dispatchers {
            try connection.run(
                "INSERT INTO dispatchers VALUES (?, ?, ?, ?, ?)", .integer(dispatcher.number), .text(dispatcher.id),
                .integer(dispatcher.position), .blob(RangeBlob.encode(dispatcher.settled)),
                .optional(dispatcher.orphanedSince))
        }
        for (number, dispatchers) in founding.routes {
            try connection.run(
                "INSERT INTO routes VALUES (?, ?)", .integer(number),
                .blob(dispatchers.flatMap { LittleEndian.bytes($0) }))
        }
        for (name, value) in founding.kept {
            try connection.run("INSERT INTO kept VALUES (?, ?)", .text(name), .blob(value))
        }
        for ids in founding.recentIDs { try insert(ids) }
        try insertNumbers(founding)
    }

    private func insert(_ ids: RecentIDs) throws(SQLiteError) {
        try connection.run(
            "INSERT OR IGNORE INTO recent_ids (last_seq, received_stamp, count, ids, form) VALUES (?, ?, ?, ?, ?)",
            .integer(ids.lastSequenceNumber), .integer(ids.receivedStamp), .integer(ids.count), .blob(ids.bytes),
            .integer(ids.form.rawValue))
    }

    /// What came before is elsewhere; its numbers are not given again.
    private func insertNumbers(_ founding: Founding) throws(SQLiteError) {
        let last = founding.lastSequenceNumber
        if last > 0 { try connection.run("INSERT INTO quarantined (last_seq) VALUES (?)", .integer(last)) }
        if let stamp = founding.newestStamp, last > 0 {
            // A row that holds no ids tells when the newest event was received.
            try insert(RecentIDs(lastSequenceNumber: last, receivedStamp: stamp, count: 0, bytes: []))
        }
        if founding.newestLetter > 0 {
            try connection.run(
                "INSERT INTO sqlite_sequence (name, seq) VALUES ('dead_letters', ?)", .integer(founding.newestLetter))
        }
    }
}
