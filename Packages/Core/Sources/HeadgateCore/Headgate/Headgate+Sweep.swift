/// The sweeper: looks through all that waits for events that have become too old, however deep they are in a backlog that
/// is held (Behaviour Q4). It reads no more than a piece at a time, and rests between two.
extension Headgate {
    private static let restBetweenSteps = Duration.milliseconds(5)
    private static let restBetweenPasses = Duration.seconds(10)
    /// A pass over a large backlog takes no more than this part of the time.
    private static let leisure = 20

    /// Begins a pass when it is time for one. What dispatchers have in hand they look after themselves.
    func sweepWhenDue() {
        guard !isSweeping, stopping == nil, worker.now >= nextPass, let oldest = oldestUnread else { return }
        isSweeping = true
        passBegan = worker.now
        events.sweep.begin(events.ageLimit, behind: oldest, through: events.lastStored)
        sweepOn()
    }

    /// Where the events begin that nobody has in hand; nil when there are none.
    var oldestUnread: SequenceNumber? {
        let dispatchers = everyDispatcher.filter { $0.unread > 0 }.map(\.queue.readPosition)
        return (dispatchers + orphansWithEvents.map(\.position)).min()
    }

    private func sweepOn() {
        guard stopping == nil, let stretch = events.sweep.next else { return rest() }
        events.store.readAged(stretch) { [weak self] in self?.swept(stretch, $0) }
    }

    /// A store that cannot read now is asked again later, from where this pass has come to.
    private func swept(_ stretch: AgedStretch, _ result: Result<Chunk?, StoreFault>) {
        guard case .success(let chunk) = result else { return rest() }
        if let chunk { letGo(of: chunk) }
        events.sweep.advance(through: chunk?.lastSequenceNumber ?? stretch.through)
        _ = worker.schedule(at: worker.now + Headgate.restBetweenSteps) { [weak self] in self?.sweepOn() }
    }

    private func rest() {
        isSweeping = false
        nextPass = worker.now + max(Headgate.restBetweenPasses, (worker.now - passBegan) * Headgate.leisure)
        scheduleSweep()
    }

    private func letGo(of chunk: Chunk) {
        var old: [DispatcherNumber: [StoredEvent]] = [:]
        let holders = Dictionary(everyDispatcher.map { ($0.number, $0) }) { first, _ in first }
        let orphans = Dictionary(orphansWithEvents.map { ($0.number, $0) }) { first, _ in first }
        for event in chunk where events.sweep.isDue(event) {
            for number in events.routes.dispatchers(of: event.route) {
                let isUnread =
                    holders[number]?.queue.isUnread(event.sequenceNumber)
                    ?? orphans[number].map { !$0.settled.contains(event.sequenceNumber) } ?? false
                if isUnread { old[number, default: []].append(event) }
            }
        }
        for (number, events) in old {
            if let dispatcher = holders[number] { dispatcher.expireUnread(events) } else { expire(events, of: number) }
        }
    }

    /// Events of a dispatcher that is gone.
    private func expire(_ old: [StoredEvent], of orphan: DispatcherNumber) {
        for event in old { events.backlog.settle(event.tally, route: event.route, dispatcher: orphan) }
        board.counters.expired += old.count
    }
}
