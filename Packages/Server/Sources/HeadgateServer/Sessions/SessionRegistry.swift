import HeadgateCore
import HeadgateTransport

/// The open sessions, within the limits of Behaviour X2, and the counters of connections.
final class SessionRegistry {
    var counters = Counters<ConnectionCounter>()
    private let scheduler: any Scheduler
    private var limits: Limits
    private var sessions: [Int: Session] = [:]
    private var perUser: [UInt32: Int] = [:]
    private var next = 1
    /// The shares of users in a turn of the loop.
    let turns: UserTurns
    /// The next check for clients that do not read, or nil if no output waits.
    private var nextCheck: (any Disposable)?

    init(scheduler: any Scheduler, limits: Limits) {
        self.scheduler = scheduler
        self.limits = limits
        turns = UserTurns(scheduler: scheduler)
        turns.setRate(limits.rate)
    }

    var count: Int { sessions.count }
    var all: some Collection<Session> { sessions.values }
    /// The sessions by age, oldest first.
    var inOrder: [Session] { sessions.values.sorted { $0.number < $1.number } }

    /// Returns true if a user may open another connection. The last connections are for the daemon's own user, for root,
    /// and for users who have none (Behaviour X2).
    func hasRoom(for caller: Caller) -> Bool {
        let own = perUser[caller.credentials.uid] ?? 0
        if isWithinLimits(caller, own: own, all: sessions.count) { return true }
        let ended = endedUnnoticed(of: caller.credentials.uid, own)
        return ended > 0 && isWithinLimits(caller, own: own - ended, all: sessions.count - ended)
    }

    private func isWithinLimits(_ caller: Caller, own: Int, all: Int) -> Bool {
        let isPreferred = caller.isTrusted || own == 0
        let most = limits.maxConnections - (isPreferred ? 0 : limits.reservedConnections)
        return all < most && own < limits.maxConnectionsPerUID
    }

    /// Returns the number of a user's connections that the client has closed and the loop has not noticed yet. A program
    /// that connects again for each event would be refused because of its last connection.
    /// - Parameter own: the number of the user's connections. If there are more than a few, the method returns 0: the
    ///   search would take long.
    private func endedUnnoticed(of uid: UInt32, _ own: Int) -> Int {
        guard own <= limits.reservedConnections else { return 0 }
        return sessions.values.count(where: { $0.caller.credentials.uid == uid && $0.connection.hasHungUp })
    }

    /// Returns the next session's number. Numbers count from the start of the daemon.
    func nextNumber() -> Int {
        defer { next += 1 }
        return next
    }

    func add(_ session: Session) {
        sessions[session.number] = session
        perUser[session.caller.credentials.uid, default: 0] += 1
        turns.isShared = perUser.count > 1
    }

    func remove(_ session: Session) {
        guard sessions.removeValue(forKey: session.number) != nil else { return }
        let uid = session.caller.credentials.uid
        let left = perUser[uid, default: 1] - 1
        perUser[uid] = left > 0 ? left : nil
        turns.isShared = perUser.count > 1
    }

    /// Applies new settings.
    func settingsChanged(from old: Settings, to new: Settings) {
        limits = new.limits
        turns.setRate(limits.rate)
        for session in sessions.values {
            session.settingsChanged(
                access: new.access != old.access ? new.access : nil, limits: new.limits,
                hasNewCollectors: new.collectors != old.collectors)
        }
    }

    // MARK: Slow readers

    /// Schedules a check for clients that do not read, after output was written. Checks repeat while any output is
    /// unread (Behaviour X2).
    func watchSlowReaders() {
        guard nextCheck == nil else { return }
        nextCheck = scheduler.schedule(at: scheduler.now + min(limits.slowReaderTimeout, .seconds(1))) { [weak self] in
            self?.nextCheck = nil
            self?.closeSlowReaders()
        }
    }

    private func closeSlowReaders() {
        let oldest = scheduler.now.nanoseconds - limits.slowReaderTimeout.wholeNanoseconds
        let waiting = sessions.values.filter { $0.connection.outputBytes > 0 }.sorted { $0.number < $1.number }
        for session in waiting where session.connection.lastOutputProgress <= oldest {
            counters.count(.slowReadersClosed)
            session.connection.close()
        }
        if !waiting.isEmpty { watchSlowReaders() }
    }
}
