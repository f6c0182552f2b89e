import HeadgateCore
import HeadgateTransport

/// The open sessions, within the limits of Behaviour X2, and what is counted of them beside their events.
final class SessionRegistry {
    var counters = Counters<ConnectionCounter>()
    private let scheduler: any Scheduler
    private var limits: Limits
    private var sessions: [Int: Session] = [:]
    private var perUser: [UInt32: Int] = [:]
    private var next = 1
    /// The next look at those who do not read, while there are any.
    private var look: (any Disposable)?

    init(scheduler: any Scheduler, limits: Limits) {
        self.scheduler = scheduler
        self.limits = limits
    }

    var count: Int { sessions.count }
    var all: some Collection<Session> { sessions.values }
    /// The oldest first.
    var inOrder: [Session] { sessions.values.sorted { $0.number < $1.number } }

    /// Whether a user may have another connection.
    func hasRoom(for uid: UInt32) -> Bool {
        sessions.count < limits.maxConnections && perUser[uid] ?? 0 < limits.maxConnectionsPerUID
    }

    /// Counts the sessions since the start.
    func nextNumber() -> Int {
        defer { next += 1 }
        return next
    }

    func add(_ session: Session) {
        sessions[session.number] = session
        perUser[session.caller.credentials.uid, default: 0] += 1
    }

    func remove(_ session: Session) {
        guard sessions.removeValue(forKey: session.number) != nil else { return }
        let uid = session.caller.credentials.uid
        let left = perUser[uid, default: 1] - 1
        perUser[uid] = left > 0 ? left : nil
    }

    /// Other settings are in force.
    func settingsChanged(from old: Settings, to new: Settings) {
        limits = new.limits
        for session in sessions.values { session.settingsChanged(from: old, to: new) }
    }

    // MARK: Slow readers

    /// Something was sent. Whether readers take it is looked at now and then, as long as there are any that do not
    /// (Behaviour X2).
    func watchSlowReaders() {
        guard look == nil else { return }
        look = scheduler.schedule(at: scheduler.now + min(limits.slowReaderTimeout, .seconds(1))) { [weak self] in
            self?.look = nil
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

/// What is counted of connections, beside the events (Behaviour X2).
enum ConnectionCounter: Int, CounterList {
    /// Connections that were one too many.
    case rejectedConnections
    /// Notifications that could not be carried out: nobody is told of it otherwise.
    case failedNotifications
    /// Lines that were longer than `max_line_bytes`.
    case lineTooLong
    /// Connections that were closed because their client did not take its answers.
    case slowReadersClosed
    /// What was refused because of a limit: nested too deep, say, or one watch too many.
    case limited
    /// How often a connection was read no further until it had room for more requests or answers.
    case pausedReadings

    /// What it counts, in words for documents.
    var meaning: String {
        switch self {
        case .rejectedConnections: "Connections that were one too many"
        case .failedNotifications: "Notifications that could not be carried out"
        case .lineTooLong: "Lines that were longer than max_line_bytes"
        case .slowReadersClosed: "Connections closed because their client did not take its answers"
        case .limited: "Messages refused because of a limit"
        case .pausedReadings: "How often a connection was read no further until there was room"
        }
    }
}
