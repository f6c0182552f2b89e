import HeadgateTransport

/// The open sessions, within the limits of Behaviour X2.
struct SessionRegistry {
    private var sessions: [Int: Session] = [:]
    private var perUser: [UInt32: Int] = [:]
    private var next = 1

    var count: Int { sessions.count }
    var all: some Collection<Session> { sessions.values }

    /// Whether a user may have another connection.
    func hasRoom(for uid: UInt32, limits: Limits) -> Bool {
        sessions.count < limits.maxConnections && perUser[uid] ?? 0 < limits.maxConnectionsPerUID
    }

    /// Counts the sessions since the start.
    mutating func nextNumber() -> Int {
        defer { next += 1 }
        return next
    }

    mutating func add(_ session: Session) {
        sessions[session.number] = session
        perUser[session.caller.credentials.uid, default: 0] += 1
    }

    mutating func remove(_ session: Session) {
        guard sessions.removeValue(forKey: session.number) != nil else { return }
        let uid = session.caller.credentials.uid
        let left = perUser[uid, default: 1] - 1
        perUser[uid] = left > 0 ? left : nil
    }
}

/// What is counted of connections, beside the events (Behaviour X2).
struct ConnectionCounters {
    var rejectedConnections = 0
    var failedNotifications = 0
    var lineTooLong = 0
    var slowReadersClosed = 0
    /// What was refused because of a limit: nested too deep, say, or one watch too many.
    var limited = 0
    /// How often a connection was read no further until it had room for more requests or answers.
    var pausedReadings = 0
}
