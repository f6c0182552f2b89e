import HeadgateCore
import HeadgateWire

/// All watches: collects what may have changed, and tells them when it is time (Behaviour B10). While nobody watches it
/// costs nothing.
final class Watches {
    /// The most that one session may have.
    static let mostPerSession = 16

    private unowned let service: Service
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

    init(service: Service) {
        self.service = service
    }

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
        watch.mark(Dictionary(uniqueKeysWithValues: topics.map { ($0, .states) }), at: service.worker.now)
        following = following ?? service.gate.changes.subscribe { [weak self] in self?.note($0) }
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
        service.worker.atEndOfTurn(.watch) { [weak self] in self?.look() }
    }

    private func look() {
        isLookDue = false
        let now = service.worker.now
        for watch in watches { watch.mark(marks, at: now) }
        marks = [:]
        // Found out before any is told: what is told to one watch makes its session's others wait.
        let ready = watches.filter(\.isReady)
        for watch in watches where !watch.isReady && watch.due != nil { slow.insert(watch.session.number) }
        for watch in ready { watch.tell(from: service, at: now) }
        alarm?.dispose()
        alarm = ready.compactMap(\.due).min().map { due in
            service.worker.schedule(at: due) { [weak self] in self?.look() }
        }
    }
}
