import HeadgateCore
import HeadgateData
import HeadgateWire

/// All watches of all sessions. Collects the topics that may have changed, and reports changes when they are due
/// (Behaviour B10). Without watches it costs nothing.
final class Watches {
    /// The most watches of one session.
    static let mostPerSession = 16

    private let sources: WatchSources
    private var watches: [Watch] = []
    private var next = 1
    /// The subscription to the gate's changes, while there is any watch.
    private var subscription: (any Disposable)?
    /// The topics that may have changed since the last report, with their urgency.
    private var marks: [WatchTopic: ReportSchedule.Urgency] = [:]
    private var isReportScheduled = false
    private var timer: (any Disposable)?
    /// The numbers of sessions whose watches have changes to report but whose client has not read the last output.
    private var slow: Set<Int> = []

    init(_ sources: WatchSources) {
        self.sources = sources
    }

    private var scheduler: any Scheduler { sources.gate.scheduler }

    // MARK: Watches

    /// Starts a watch of a session. The first report has the whole state of each topic, and later reports have the
    /// changes.
    /// - Returns: the watch's ID.
    func start(_ topics: Set<WatchTopic>, for session: Session) throws(RPCError) -> String {
        guard watches.count(where: { $0.session === session }) < Watches.mostPerSession else {
            throw RPCError(.limit, "a connection has at most \(Watches.mostPerSession) watches")
        }
        let watch = Watch(id: "watch-\(next)", topics: topics, session: session)
        next += 1
        watches.append(watch)
        watch.mark(Dictionary(uniqueKeysWithValues: topics.map { ($0, .states) }), at: scheduler.now)
        subscription = subscription ?? sources.gate.changes.subscribe { [weak self] in self?.note($0) }
        scheduleReport()
        return watch.id
    }

    /// Ends a watch of a session.
    /// - Returns: false if the session has no watch with this ID.
    func end(_ id: String, of session: Session) -> Bool {
        let count = watches.count
        remove { $0.id == id && $0.session === session }
        return watches.count < count
    }

    /// Ends all watches of a session, when the session ends or loses the right to watch.
    /// - Returns: true if the session had a watch.
    @discardableResult
    func sessionEnded(_ session: Session) -> Bool {
        slow.remove(session.number)
        let count = watches.count
        remove { $0.session === session }
        return watches.count < count
    }

    private func remove(where isOver: (Watch) -> Bool) {
        guard !watches.isEmpty else { return }
        watches.removeAll(where: isOver)
        guard watches.isEmpty else { return }
        subscription?.dispose()
        subscription = nil
    }

    /// Returns the number of watches of the sessions for which the closure returns true.
    func count(where isIncluded: (Session) -> Bool) -> Int {
        watches.count { isIncluded($0.session) }
    }

    // MARK: Changes

    /// Marks the topic `clients` as changed: clients have connected, left or introduced themselves.
    func clientsChanged() {
        mark([.clients: .counters])
    }

    /// Reports changes that waited until the session's client had read its output.
    func drained(_ session: Session) {
        if !slow.isEmpty, slow.remove(session.number) != nil { scheduleReport() }
    }

    private func note(_ change: GateChange) {
        switch change {
        case .blockedState: mark([.dispatchers: .states, .barriers: .states])
        case .barriers: mark([.barriers: .states])
        case .progress: mark([.dispatchers: .counters, .barriers: .counters, .outcomes: .counters])
        }
    }

    private func mark(_ topics: [WatchTopic: ReportSchedule.Urgency]) {
        guard !watches.isEmpty else { return }
        marks.merge(topics) { max($0, $1) }
        scheduleReport()
    }

    // MARK: Reporting

    /// Schedules a report for the end of the turn, after the dispatchers, so that it includes their changes.
    private func scheduleReport() {
        guard !isReportScheduled else { return }
        isReportScheduled = true
        scheduler.atEndOfTurn(.watch) { [weak self] in self?.evaluate() }
    }

    private func evaluate() {
        isReportScheduled = false
        let now = scheduler.now
        for watch in watches { watch.mark(marks, at: now) }
        marks = [:]
        // Selects the ready watches before any report: a report fills the session's output, and then the session's
        // other watches are not ready.
        let ready = watches.filter(\.isReady)
        for watch in watches where !watch.isReady && watch.due != nil { slow.insert(watch.session.number) }
        report(ready.filter { $0.due.map { $0 <= now } ?? false }, at: now)
        timer?.dispose()
        timer = ready.compactMap(\.due).min().map { due in
            scheduler.schedule(at: due) { [weak self] in self?.evaluate() }
        }
    }

    /// Sends the due reports of users who have a share of this turn left. The other reports follow in the next turn,
    /// before later reports of the same user.
    private func report(_ due: [Watch], at now: Instant) {
        let turns = sources.sessions.turns
        var turn = WatchTurn(isShared: turns.isShared)
        var isComplete = true
        for watch in due {
            let uid = watch.session.caller.credentials.uid
            guard turn.allows(uid) else {
                isComplete = false
                continue
            }
            turns.spend(turn.count(watch.notify(from: sources, at: now), of: uid), of: uid)
        }
        if !isComplete { scheduler.nextTurn { [weak self] in self?.scheduleReport() } }
    }
}

/// The units that the reports of each user's watches have cost in one turn. A user with many watches does not delay the
/// others (Behaviour X3). A pure value.
struct WatchTurn {
    private var spent: [UInt32: Int] = [:]
    /// True if several users are connected. A user who is alone has the whole turn.
    let isShared: Bool

    init(isShared: Bool) {
        self.isShared = isShared
    }

    /// Returns true if a user's watch may report in this turn. The first one always may.
    func allows(_ uid: UInt32) -> Bool { !isShared || spent[uid, default: 0] < UserTurns.whole }

    /// Counts a report.
    /// - Parameter bytes: the report's size.
    /// - Returns: the report's cost, in the units of ``TurnShare``.
    mutating func count(_ bytes: Int, of uid: UInt32) -> Int {
        let units = TurnShare.call + bytes / TurnShare.answerBytes
        spent[uid, default: 0] += units
        return units
    }
}

/// A watch of one client: its topics, their last reports and the times of their next reports.
final class Watch {
    let id: String
    let session: Session
    private var parts: [Part]

    private struct Part {
        let topic: WatchTopic
        var report: any TopicReport
        var pace = ReportSchedule()
    }

    init(id: String, topics: Set<WatchTopic>, session: Session) {
        self.id = id
        self.session = session
        parts = WatchTopic.allCases.filter(topics.contains).map { Part(topic: $0, report: $0.report) }
    }

    /// True if the client has read all output of its session. Reports wait until then, so that a slow client gets the
    /// latest state and not a backlog.
    var isReady: Bool {
        session.connection.isWritable && session.connection.outputBytes == 0
    }

    /// The time of the next report, or nil if nothing may have changed.
    var due: Instant? {
        parts.compactMap(\.pace.due).min()
    }

    /// Marks topics as changed.
    func mark(_ marks: [WatchTopic: ReportSchedule.Urgency], at now: Instant) {
        for index in parts.indices {
            if let urgency = marks[parts[index].topic] { parts[index].pace.mark(urgency, at: now) }
        }
    }

    /// Sends a notification for each topic that is due and has changed.
    /// - Returns: the number of bytes sent.
    func notify(from sources: WatchSources, at now: Instant) -> Int {
        var writer = JSONWriter()
        for index in parts.indices where parts[index].pace.takeDue(at: now) {
            guard let news = parts[index].report.news(from: sources) else { continue }
            write(news, of: parts[index].topic, into: &writer)
        }
        if !writer.bytes.isEmpty { session.send(writer.bytes) }
        return writer.bytes.count
    }

    private func write(_ news: TopicNews, of topic: WatchTopic, into writer: inout JSONWriter) {
        writer.notification(method: WatchMessages.changed.name) { params in
            WatchMessages.params.writeObject((id, topic, news), into: &params)
        }
        writer.endLine()
    }
}

/// The time of a topic's next report. Frequent changes share a report, so that the cost of a watch does not grow with
/// the number of events.
struct ReportSchedule {
    /// The urgency of a change, which sets the time between two reports.
    enum Urgency: Int, Comparable {
        /// A change of counters: a report at most every 50 ms.
        case counters
        /// A change of states: a report at the end of the turn, at most every 5 ms.
        case states

        var spacing: Duration {
            switch self {
            case .counters: .milliseconds(50)
            case .states: .milliseconds(5)
            }
        }

        static func < (left: Urgency, right: Urgency) -> Bool { left.rawValue < right.rawValue }
    }

    /// The time of the next report, or nil if nothing may have changed.
    private(set) var due: Instant?
    private var lastEvaluation: Instant?

    /// Makes a report due, after the spacing since the last report.
    mutating func mark(_ urgency: Urgency, at now: Instant) {
        let soonest = lastEvaluation.map { max(now, $0 + urgency.spacing) } ?? now
        due = min(due ?? soonest, soonest)
    }

    /// Returns true if a report is due, and then counts it as made.
    mutating func takeDue(at now: Instant) -> Bool {
        guard let due, due <= now else { return false }
        self.due = nil
        lastEvaluation = now
        return true
    }
}
