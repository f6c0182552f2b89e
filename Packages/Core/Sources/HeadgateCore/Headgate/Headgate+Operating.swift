import HeadgateData

// What operators do, by themselves or by settings: pause, flush, look, and limit.

extension Headgate {
    // MARK: Pausing

    /// Closes a dispatcher's ManualBarrier (Behaviour B23); `then` is called once that survives a restart.
    /// - Returns: false when there is no such dispatcher.
    public func pause(
        _ id: String, reason: String?, isFlushable: Bool, then: @escaping (StoreFault?) -> Void
    ) -> Bool {
        setPause(of: id, ManualBarrier.Setting(isPaused: true, isFlushable: isFlushable, reason: reason), then)
    }

    /// Opens a dispatcher's ManualBarrier.
    /// - Returns: false when there is no such dispatcher.
    public func resume(_ id: String, then: @escaping (StoreFault?) -> Void) -> Bool {
        setPause(of: id, ManualBarrier.Setting(), then)
    }

    /// Ends the wait of a dispatcher that backs off after a failure, `Retry-After` included: it sends again now (Behaviour D5).
    /// - Returns: true if there was such a wait; nil when there is no such dispatcher.
    public func endBackoff(of id: String) -> Bool? {
        dispatchers[id]?.endBackoff()
    }

    private func setPause(
        of id: String, _ setting: ManualBarrier.Setting, _ then: @escaping (StoreFault?) -> Void
    ) -> Bool {
        guard let dispatcher = dispatchers[id] else { return false }
        dispatcher.setPause(setting)
        barriersChanged()
        kept.keepPause(setting, of: id, then: then)
        return true
    }

    // MARK: Flushing

    /// Starts a flush of what these dispatchers have queued now (Behaviour F1), and of what was offered to the queue
    /// before and is about to be stored; nothing that is offered later is in it.
    /// - Parameters:
    ///   - id: the flush's name, to cancel it by; made up when nil.
    ///   - ids: the dispatchers; nil is all.
    ///   - timeout: after which it ends in any case; nil is never.
    ///   - then: is told how it ended, never before this returns.
    /// - Returns: the flush's name; nil when a dispatcher is unknown.
    public func flush(
        id: String? = nil, dispatchers ids: [String]? = nil, timeout: Duration?, then: @escaping (FlushAnswer) -> Void
    ) -> Result<String, FlushRefusal> {
        let ids = ids ?? dispatcherIds
        if let unknown = ids.first(where: { dispatchers[$0] == nil }) { return .failure(.unknownDispatcher(unknown)) }
        let name = id ?? flushes.unusedName()
        guard !flushes.isUnderWay(name) else { return .failure(.idInUse) }
        flushes.start(name, parts: flushParts(ids), timeout: timeout, then: then)
        events.whenCommitted { [weak self] fault in
            if fault != nil { self?.leaveOutUnstored(name, ids) }
        }
        return .success(name)
    }

    /// The flushes under way, those that were begun first in front.
    public var flushesUnderWay: [FlushSummary] {
        flushes.table.flushes.map {
            FlushSummary(id: $0.id, dispatchers: $0.parts.keys.sorted(), since: $0.since, timeout: $0.timeout)
        }
    }

    /// Ends a flush before its time (Behaviour F4).
    /// - Returns: false when there is none of this name.
    public func cancelFlush(_ id: String) -> Bool {
        flushes.cancel(id)
    }

    private func flushParts(_ ids: [String]) -> [String: FlushTable.Part] {
        let parts = ids.compactMap { id in
            dispatchers[id].map { dispatcher in
                let left = dispatcher.unsettled.events + events.offered(to: dispatcher.number)
                return (id, FlushTable.Part(target: events.lastSequenceNumber, left: left))
            }
        }
        return Dictionary(parts) { first, _ in first }
    }

    /// What was offered before a flush could not be stored: only what was stored before is left.
    private func leaveOutUnstored(_ flush: String, _ ids: [String]) {
        for id in ids { flushes.limit(flush, id, to: dispatchers[id]?.unsettled.events ?? 0) }
    }

    // MARK: Limits and memory

    /// Other limits are in force from now on (Behaviour Q4).
    public func setLimits(_ limits: StoreLimits) {
        events.setLimits(limits)
        dispatchers.lookAll()
    }

    /// Keeps something small under a name, over restarts; nil takes it away. `then` is called once it is written.
    public func keep(_ bytes: [UInt8]?, as name: String, then: @escaping (StoreFault?) -> Void) {
        kept.keep(bytes, as: name, then: then)
    }

    /// What was kept under a name.
    public func keptBytes(as name: String) -> [UInt8]? {
        kept[name]
    }
}

/// What operators do with what waits for a dispatcher.
extension Headgate {
    /// Looks at the next events that a dispatcher would send, in their order, and takes none.
    /// - Parameters:
    ///   - after: only what comes behind this one, as ``QueuePage/next`` tells.
    ///   - limit: the most events, at least one; there may be fewer where they are large.
    /// - Returns: false when there is no such dispatcher, and no queue that is kept for one (Behaviour Q3); `then` is not
    ///   called.
    public func peek(
        at id: String, after: SequenceNumber = 0, limit: Int, then: @escaping (Result<QueuePage, StoreFault>) -> Void
    ) -> Bool {
        guard let queue = dispatchers[id]?.queue ?? dispatchers.keptQueue(of: id) else { return false }
        QueuePeek(into: queue, in: events, after: after, limit: limit, then: then).begin()
        return true
    }

    /// Drops what waits for a dispatcher now, and counts it as evicted. What is on its way stays, and so does what comes
    /// later.
    /// - Parameters:
    ///   - sequenceNumber: only what comes before this one; nil is all.
    ///   - then: gets how many events there were, once that survives a restart.
    /// - Returns: false when there is no such dispatcher; `then` is not called.
    public func purge(
        _ id: String, before sequenceNumber: SequenceNumber? = nil, then: @escaping (Result<Int, PurgeFault>) -> Void
    ) -> Bool {
        guard dispatchers[id] != nil else { return false }
        let newest = events.lastSequenceNumber
        let through = sequenceNumber.map { min($0 - 1, newest) } ?? newest
        // What was offered before, and is being stored, goes as well.
        events.whenCommitted { [weak self] _ in
            guard let self, let dispatcher = self.dispatchers[id] else {
                return then(.failure(.dispatcherRemoved(purged: 0)))
            }
            dispatcher.purge(through: through) { [settlements] end in
                guard end.isComplete else { return then(.failure(.dispatcherRemoved(purged: end.count))) }
                settlements.whenWritten { fault in
                    then(fault.map { .failure(.store($0)) } ?? .success(end.count))
                }
            }
        }
        return true
    }
}

/// Why not all that was to be purged is, or not for good.
public enum PurgeFault: Error, Equatable, Sendable {
    /// The dispatcher was removed meanwhile; the rest of its queue is kept (Behaviour Q3).
    case dispatcherRemoved(purged: Int)
    /// All is purged, but that could not be written down.
    case store(StoreFault)
}

/// A flush under way, as people see it.
public struct FlushSummary: Sendable, Equatable {
    public var id: String
    /// The dispatchers that it is for, in alphabetical order.
    public var dispatchers: [String]
    public var since: Timestamp
    /// After which it ends in any case; nil: never.
    public var timeout: Duration?
}

/// What operators do with dead letters (Behaviour D10). A dispatcher that was removed and whose queue is kept still has its
/// letters; they can be seen and purged, and requeued when it is back.
extension Headgate {
    /// Reads dead letters, the oldest first.
    /// - Parameters:
    ///   - dispatcher: those of one; nil is of all.
    ///   - after: those behind this one.
    /// - Returns: false when there is no such dispatcher; `then` is not called.
    public func readDeadLetters(
        of dispatcher: String? = nil, after: LetterNumber = 0, limit: Int,
        then: @escaping (Result<LetterPage, StoreFault>) -> Void
    ) -> Bool {
        guard var query = query(of: dispatcher, limit: limit) else { return false }
        query.after = after
        deadLetterWork.read(query, then: then)
        return true
    }

    /// Has the events of dead letters go again: under their old ids, with new places at the end of the queue, each to the
    /// dispatcher it died for alone. Their ages and times to live count from now on, their attempts begin anew.
    /// - Parameters:
    ///   - dispatcher: those of one; nil is of all that are there.
    ///   - letters: those of these numbers; nil is all.
    ///   - then: gets how many there were, once they are stored.
    /// - Returns: false when there is no such dispatcher; `then` is not called.
    public func requeueDeadLetters(
        of dispatcher: String? = nil, _ letters: Set<LetterNumber>? = nil,
        then: @escaping (Result<Int, RequeueFault>) -> Void
    ) -> Bool {
        guard dispatcher.map(hasDispatcher) ?? true, let query = query(of: dispatcher, letters) else { return false }
        deadLetterWork.requeue(query, then: then)
        return true
    }

    /// Deletes dead letters for good.
    /// - Parameters:
    ///   - dispatcher: those of one; nil is of all.
    ///   - letters: those of these numbers; nil is all.
    ///   - then: gets how many there were.
    /// - Returns: false when there is no such dispatcher; `then` is not called.
    public func purgeDeadLetters(
        of dispatcher: String? = nil, _ letters: Set<LetterNumber>? = nil,
        then: @escaping (Result<Int, StoreFault>) -> Void
    ) -> Bool {
        guard let query = query(of: dispatcher, letters) else { return false }
        deadLetterWork.purge(query, then: then)
        return true
    }

    private func query(of dispatcher: String?, _ letters: Set<LetterNumber>? = nil, limit: Int = 1) -> LetterQuery? {
        guard let dispatcher else { return LetterQuery(letters: letters, limit: limit) }
        return dispatchers.known[dispatcher].map { LetterQuery(dispatcher: $0.number, letters: letters, limit: limit) }
    }
}

// MARK: - Status

extension Headgate {
    /// Every dispatcher, in alphabetical order.
    public var dispatcherSummaries: [DispatcherSummary] {
        dispatcherIds.compactMap { dispatchers[$0] }.map(summary)
    }

    /// Every barrier, those registered first in front.
    public var barrierSummaries: [BarrierSummary] { coordinator.summaries }

    /// What is stored and not settled by all.
    public var stored: Tally { events.backlog.live }

    /// The age of the oldest event that some dispatcher has not settled; nil when there is none.
    public var oldestAge: Duration? {
        dispatchers.present.compactMap(oldestAge).max()
    }

    private func summary(_ dispatcher: Dispatcher) -> DispatcherSummary {
        let isFlushing = flushes.target(for: dispatcher.id) != nil
        let blockers = coordinator.blockers(of: dispatcher.id, flushing: isFlushing)
        return DispatcherSummary(
            id: dispatcher.id, kind: dispatcher.kind, isOpen: blockers.isEmpty, blockedBy: blockers.map(\.id),
            pending: dispatcher.pending, inFlight: dispatcher.queue.inFlightCount,
            inFlightBytes: dispatcher.bytesInFlight, counters: dispatcher.counters,
            oldest: oldestAge(of: dispatcher),
            retryAt: dispatcher.backoff.retryAtWall, lastError: dispatcher.lastError,
            lastErrorAt: dispatcher.lastErrorAt,
            isFlushing: isFlushing)
    }

    private func oldestAge(of dispatcher: Dispatcher) -> Duration? {
        guard let first = dispatcher.queue.first else { return nil }
        let age = events.presentStamp() - first.event.receivedStamp
        return .milliseconds(max(0, age))
    }

    /// What became of every dispatcher's events since the start, in alphabetical order of the dispatchers.
    public var outcomes: [DispatcherOutcomes] {
        dispatcherIds.compactMap { dispatchers[$0] }.map {
            DispatcherOutcomes(
                dispatcher: $0.id, incarnation: $0.incarnation, counters: $0.counters, lastError: $0.lastError)
        }
    }
}
