/// How a dispatcher gets the next events in hand: from memory while it keeps up, else from the store.
extension Dispatcher {
    /// So many events for it were stored behind another. Where it has read all before, it need not look at what others
    /// got meanwhile, which may no longer be in memory.
    func stored(_ count: Int, behind previous: SequenceNumber) {
        if unread == count { queue.skip(to: previous) }
    }

    /// Has `count` events wait in hand, or all there are.
    /// - Returns: false when they have to be read from the store first; the dispatcher looks again when they have been.
    @discardableResult
    func prepare(_ count: Int) -> Bool {
        let events = surroundings.events
        while unread > 0, !fill(count) {
            guard queue.readPosition < events.lastStored else {
                missUnread()
                return true
            }
            guard let chunk = events.recentChunk(after: queue.readPosition) else {
                read()
                return false
            }
            queue.load(chunk)
        }
        if unread == 0 { queue.skip(to: events.lastStored) }
        return true
    }

    /// Tells whether an event is for it, also while the queue is being read.
    var isMine: (StoredEvent) -> Bool {
        let (number, events) = (queue.number, surroundings.events)
        return { events.routes.dispatchers(of: $0.route).contains(number) }
    }

    private func fill(_ count: Int) -> Bool {
        let (events, isMine) = (surroundings.events, isMine)
        var hasPassedOver = false
        let isFull = queue.fill(count) { event in
            guard isMine(event) else { return .none }
            guard events.sweep.hasPassed(event) else { return .wanted }
            hasPassedOver = true
            return .settled
        }
        // What the sweeper settled is now behind the position: that must not lag behind what the store may delete.
        if hasPassedOver { writeSettled() }
        return isFull
    }

    private func read() {
        guard !isReading else { return }
        isReading = true
        let newest = surroundings.events.lastStored
        surroundings.events.store.read(after: queue.readPosition) { [weak self] result in
            guard let self else { return }
            self.isReading = false
            switch result {
            case .success(let chunk?): self.queue.load(chunk)
            case .success(nil): self.queue.skip(to: newest)
            case .failure(let fault): return self.readLater(fault)
            }
            self.surroundings.markDirty(self.id)
        }
    }

    /// A store that cannot read now is asked again after a wait, and not at every look.
    private func readLater(_ fault: StoreFault) {
        backOff(cause: "event store: \(fault.message)", retryAfter: nil)
        isReading = true
        let worker = surroundings.worker
        _ = worker.schedule(at: backoff.retryAt ?? worker.now) { [weak self] in
            guard let self else { return }
            self.isReading = false
            self.surroundings.markDirty(self.id)
        }
    }

    /// The store no longer has what was counted: it was damaged, and is counted as quarantined (Behaviour Q8).
    private func missUnread() {
        let missing = unread
        surroundings.events.backlog.keep(queue.entries, of: queue.number)
        surroundings.board.counters.quarantined += missing
        writeSettled()
        surroundings.flushes.settled([], of: id, sent: false, position: queue.position)
    }
}
