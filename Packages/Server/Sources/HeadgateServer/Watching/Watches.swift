import HeadgateCore
import HeadgateData
import HeadgateWire

/// All watches: collects what may have changed, and tells them when it is time (Behaviour B10). While nobody watches it
/// costs nothing.
final class Watches {
    /// The most that one session may have.
    static let mostPerSession = 16

    private let sources: WatchSources
    private var watches: [Watch] = []
    private var next = 1
    /// While anybody watches.
    private var following: (any Disposable)?
    /// What may have changed since the last look.
    private var marks: [WatchTopic: Pace.Urgency] = [:]
    private var isLookDue = false
    private var alarm: (any Disposable)?
    /// Sessions that have not taken what was sent, while there is more to tell.
    private var slow: Set<Int> = []

    init(_ sources: WatchSources) {
        self.sources = sources
    }

    private var scheduler: any Scheduler { sources.gate.scheduler }

    // MARK: Watches

    /// Begins to tell a session how things stand, and what changes from then on.
    /// - Returns: the watch's id.
    func start(_ topics: Set<WatchTopic>, for session: Session) throws(RPCError) -> String {
        guard watches.count(where: { $0.session === session }) < Watches.mostPerSession else {
            throw RPCError(.limit, "a connection may have no more than \(Watches.mostPerSession) watches")
        }
        let watch = Watch(id: "watch-\(next)", topics: topics, session: session)
        next += 1
        watches.append(watch)
        watch.mark(Dictionary(uniqueKeysWithValues: topics.map { ($0, .states) }), at: scheduler.now)
        following = following ?? sources.gate.changes.subscribe { [weak self] in self?.note($0) }
        lookSoon()
        return watch.id
    }

    /// Ends a session's watch.
    /// - Returns: false when it has none of this id.
    func end(_ id: String, of session: Session) -> Bool {
        let count = watches.count
        remove { $0.id == id && $0.session === session }
        return watches.count < count
    }

    /// What a session watches ends with it, or with its right to.
    /// - Returns: whether it watched anything.
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
        following?.dispose()
        following = nil
    }

    /// How many watches there are of the sessions that are meant.
    func count(where isMeant: (Session) -> Bool) -> Int {
        watches.count { isMeant($0.session) }
    }

    // MARK: Changes

    /// Clients have come, gone or told who they are.
    func clientsChanged() {
        mark([.clients: .counters])
    }

    /// A session has taken all that was sent to it.
    func drained(_ session: Session) {
        if !slow.isEmpty, slow.remove(session.number) != nil { lookSoon() }
    }

    private func note(_ change: GateChange) {
        switch change {
        case .way: mark([.dispatchers: .states, .barriers: .states])
        case .barriers: mark([.barriers: .states])
        case .progress: mark([.dispatchers: .counters, .barriers: .counters, .outcomes: .counters])
        }
    }

    private func mark(_ topics: [WatchTopic: Pace.Urgency]) {
        guard !watches.isEmpty else { return }
        marks.merge(topics) { max($0, $1) }
        lookSoon()
    }

    // MARK: Telling

    /// Looks at the end of the turn, after the dispatchers: what they do belongs to the turn.
    private func lookSoon() {
        guard !isLookDue else { return }
        isLookDue = true
        scheduler.atEndOfTurn(.watch) { [weak self] in self?.look() }
    }

    private func look() {
        isLookDue = false
        let now = scheduler.now
        for watch in watches { watch.mark(marks, at: now) }
        marks = [:]
        // Found out before any is told: what is told to one watch makes its session's others wait.
        let ready = watches.filter(\.isReady)
        for watch in watches where !watch.isReady && watch.due != nil { slow.insert(watch.session.number) }
        for watch in ready { watch.tell(from: sources, at: now) }
        alarm?.dispose()
        alarm = ready.compactMap(\.due).min().map { due in
            scheduler.schedule(at: due) { [weak self] in self?.look() }
        }
    }
}

/// One client's watch: what it was told of each topic, and when it is told again.
final class Watch {
    let id: String
    let session: Session
    private var parts: [Part]

    private struct Part {
        let topic: WatchTopic
        var report: any TopicReport
        var pace = Pace()
    }

    init(id: String, topics: Set<WatchTopic>, session: Session) {
        self.id = id
        self.session = session
        parts = WatchTopic.allCases.filter(topics.contains).map { Part(topic: $0, report: $0.report) }
    }

    /// Whether its client has taken all that was sent: only then is there more, so that a slow reader gets the latest
    /// state and not a backlog.
    var isReady: Bool {
        session.connection.isWritable && session.connection.outputBytes == 0
    }

    /// When there may be something to tell; nil: not yet.
    var due: Instant? {
        parts.compactMap(\.pace.due).min()
    }

    /// Takes note of what may have changed.
    func mark(_ marks: [WatchTopic: Pace.Urgency], at now: Instant) {
        for index in parts.indices {
            if let urgency = marks[parts[index].topic] { parts[index].pace.mark(urgency, at: now) }
        }
    }

    /// Tells what is new of the topics that are due, each in a notification.
    func tell(from sources: WatchSources, at now: Instant) {
        var writer = JSONWriter()
        for index in parts.indices where parts[index].pace.takeDue(at: now) {
            guard let news = parts[index].report.news(from: sources) else { continue }
            write(news, of: parts[index].topic, into: &writer)
        }
        if !writer.bytes.isEmpty { session.send(writer.bytes) }
    }

    private func write(_ news: (inout JSONWriter) -> Void, of topic: WatchTopic, into writer: inout JSONWriter) {
        writer.notification(method: WatchMethods.changed.name) { params in
            params.beginObject()
            params.member("watch", id)
            params.member("topic", topic.rawValue)
            news(&params)
            params.endObject()
        }
        writer.endLine()
    }
}

/// When a watch is told of a topic again. Watching must not cost in proportion to events: what changes often is told
/// together.
struct Pace {
    /// How soon a change is told.
    enum Urgency: Int, Comparable {
        /// Counters: at most every 50 ms.
        case counters
        /// States: at the end of their turn, at most every 5 ms.
        case states

        var spacing: Duration {
            switch self {
            case .counters: .milliseconds(50)
            case .states: .milliseconds(5)
            }
        }

        static func < (left: Urgency, right: Urgency) -> Bool { left.rawValue < right.rawValue }
    }

    /// When to look what is new; nil: nothing may have changed.
    private(set) var due: Instant?
    private var lastLook: Instant?

    /// Something may have changed.
    mutating func mark(_ urgency: Urgency, at now: Instant) {
        let soonest = lastLook.map { max(now, $0 + urgency.spacing) } ?? now
        due = min(due ?? soonest, soonest)
    }

    /// Whether to look now; then that counts as done.
    mutating func takeDue(at now: Instant) -> Bool {
        guard let due, due <= now else { return false }
        self.due = nil
        lastLook = now
        return true
    }
}
