import HeadgateCore

extension StoreDatabase {
    /// Makes one change. Those that only make room are left for ``doChores()``.
    func apply(_ change: StoreChange) throws(SQLiteError) {
        switch change {
        case .dispatcher(let dispatcher): try save(dispatcher)
        case .forgetDispatcher(let number): try forget(number)
        case .settled(let number, let settled):
            try connection.run(
                "UPDATE dispatchers SET position = ?, ranges = ? WHERE number = ?", .integer(settled.position),
                .blob(RangeBlob.encode(settled)), .integer(number))
        case .deadLetter(let letter): try save(letter)
        case .forgetRoutes(let numbers): try forget(numbers)
        case .trim, .forgetIDs: break
        case .keep(let name, let value?):
            try connection.run("INSERT OR REPLACE INTO kept VALUES (?, ?)", .text(name), .blob(value))
        case .keep(let name, nil):
            try connection.run("DELETE FROM kept WHERE name = ?", .text(name))
        }
    }

    private func forget(_ routes: [RouteNumber]) throws(SQLiteError) {
        let list = "[" + routes.map(String.init).joined(separator: ",") + "]"
        try connection.run("DELETE FROM routes WHERE number IN (SELECT value FROM json_each(?))", .text(list))
        for number in routes { unsavedRoutes[number] = nil }
    }

    private func save(_ dispatcher: StoredDispatcher) throws(SQLiteError) {
        try connection.run(
            """
            INSERT INTO dispatchers VALUES (?, ?, ?, ?, ?) ON CONFLICT (number)
            DO UPDATE SET id = excluded.id, position = excluded.position, ranges = excluded.ranges,
                orphaned_since = excluded.orphaned_since
            """, .integer(dispatcher.number), .text(dispatcher.id), .integer(dispatcher.position),
            .blob(RangeBlob.encode(dispatcher.settled)), .optional(dispatcher.orphanedSince))
    }

    /// Its dead letters go with it: nobody could send them any more.
    private func forget(_ dispatcher: DispatcherNumber) throws(SQLiteError) {
        try connection.run("DELETE FROM dispatchers WHERE number = ?", .integer(dispatcher))
        try connection.run("DELETE FROM dead_letters WHERE dispatcher = ?", .integer(dispatcher))
        deadLetterRoom = nil
    }
}
