import HeadgateCore

/// What the dead letters take, so that they need not be counted each time one is added.
struct DeadLetterRoom {
    var count: Int
    var bytes: Int
}

extension StoreDatabase {
    /// Puts a dead letter aside; beyond the bounds the oldest go (Behaviour D10).
    func save(_ letter: DeadLetter) throws(SQLiteError) {
        var room = try countDeadLetters()
        try insert(letter)
        room.count += 1
        room.bytes += letter.record.count
        while room.count > 1, room.count > options.mostDeadLetters || room.bytes > options.mostDeadLetterBytes {
            try dropOldest(&room)
        }
        deadLetterRoom = room
    }

    private func insert(_ letter: DeadLetter) throws(SQLiteError) {
        try connection.run(
            """
            INSERT INTO dead_letters
                (dispatcher, seq, reason, status, attempts, first_failed_at, died_at, size, answer, checksum, record)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """, .integer(letter.dispatcher), .integer(letter.sequenceNumber), .text(letter.reason.rawValue),
            .optional(letter.status), .integer(letter.attempts), .integer(letter.firstFailedAt.milliseconds),
            .integer(letter.diedAt.milliseconds), .integer(letter.record.count), .optional(letter.answer),
            .integer(letter.record.withUnsafeBytes { DeadLetter.checksum(letter.sequenceNumber, $0) }),
            .blob(letter.record))
    }

    private func countDeadLetters() throws(SQLiteError) -> DeadLetterRoom {
        if let deadLetterRoom { return deadLetterRoom }
        return DeadLetterRoom(
            count: Int(try connection.integer("SELECT count(*) FROM dead_letters")),
            bytes: Int(try connection.integer("SELECT sum(size) FROM dead_letters")))
    }

    private func dropOldest(_ room: inout DeadLetterRoom) throws(SQLiteError) {
        let letter = try connection.integer("SELECT min(letter) FROM dead_letters")
        room.count -= 1
        room.bytes -= Int(try connection.integer("SELECT size FROM dead_letters WHERE letter = ?", .integer(letter)))
        try connection.run("DELETE FROM dead_letters WHERE letter = ?", .integer(letter))
    }
}
