import HeadgateData

// Operations for operators and settings: pauses, flushes, reading queues and limits.

extension Headgate {
    // MARK: Pausing

    /// Closes a dispatcher's ManualBarrier (Behaviour B23). `then` is called once the pause survives a restart.
    /// - Returns: false if there is no such dispatcher.
    public func pause(
        _ id: String, reason: String?, isFlushable: Bool, then: @escaping (StoreFault?) -> Void
    ) -> Bool {
        let since = dispatchers[id]?.manual.pausedSince ?? scheduler.wall
        let setting = ManualBarrier.Setting(isPaused: true, isFlushable: isFlushable, reason: reason, since: since)
        return setPause(of: id, setting, then)
    }

    /// Opens a dispatcher's ManualBarrier. `then` is called once that survives a restart.
    /// - Returns: false if there is no such dispatcher.
    public func resume(_ id: String, then: @escaping (StoreFault?) -> Void) -> Bool {
        setPause(of: id, ManualBarrier.Setting(), then)
    }

    /// Ends the wait of a dispatcher that is backing off, `Retry-After` included, so that it sends now (Behaviour D5).
    /// - Returns: true if the dispatcher was waiting; nil if there is no such dispatcher.
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

    /// Starts a flush of everything that the dispatchers have queued now (Behaviour F1). It covers events that are
    /// accepted and about to be stored, but no later events.
    /// - Parameters:
    ///   - id: the flush's name; nil to generate one.
    ///   - ids: the dispatchers; nil for all.
    ///   - timeout: the time after which the flush ends in any case; nil for no timeout.
    ///   - then: gets the result, after the function has returned.
    /// - Returns: the flush's name, or the reason why the flush was not started.
    public func flush(
        id: String? = nil, dispatchers ids: [String]? = nil, timeout: Duration?, then: @escaping (FlushAnswer) -> Void
    ) -> Result<String, FlushRefusal> {
        let ids = ids ?? dispatchers.ids
        if let unknown = ids.first(where: { dispatchers[$0] == nil }) { return .failure(.unknownDispatcher(unknown)) }
        let name = id ?? flushes.unusedName()
        guard !flushes.isInProgress(name) else { return .failure(.idInUse) }
        flushes.start(name, parts: flushParts(ids), timeout: timeout, then: then)
        events.whenCommitted { [weak self] fault in
            if fault != nil { self?.leaveOutUnstored(name, ids) }
        }
        return .success(name)
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

    /// Excludes events from a flush that could not be stored.
    private func leaveOutUnstored(_ flush: String, _ ids: [String]) {
        for id in ids { flushes.limit(flush, id, to: dispatchers[id]?.unsettled.events ?? 0) }
    }

    // MARK: Rewinding

    /// Makes a dispatcher's events pending again, from an event or a time on, after finishing what is in flight
    /// (Behaviour R2).
    /// - Parameters:
    ///   - id: the dispatcher's id.
    ///   - target: the first event, by its sequence number or by a time.
    ///   - isDryRun: true if the events are only counted.
    ///   - then: gets the result, once the rewind survives a kill.
    /// - Returns: false if there is no such dispatcher. `then` is not called in that case.
    public func rewind(
        _ id: String, to target: RewindTarget, isDryRun: Bool = false,
        then: @escaping (Result<RewindAnswer, RewindRefusal>) -> Void
    ) -> Bool {
        guard dispatchers[id] != nil else { return false }
        rewinds.rewind(id, to: target, isDryRun: isDryRun, then: then)
        return true
    }

    // MARK: Erasing

    /// Erases the stored events for which a rule is true, for all dispatchers, and dead letters (Behaviour E1). The rule
    /// may name load rules.
    /// - Parameters:
    ///   - reason: the operator's reason. The log has it, also when the erasure is finished after a kill.
    ///   - isDryRun: true to count the events, and to change nothing.
    ///   - then: gets the result once no file has bytes of the events.
    public func erase(
        _ rule: Rule, reason: String? = nil, isDryRun: Bool,
        then: @escaping (Result<ErasureAnswer, ErasureRefusal>) -> Void
    ) {
        let refuse = { [scheduler] (refusal: ErasureRefusal) in scheduler.soon { then(.failure(refusal)) } }
        guard events.store.canErase else { return refuse(.unsupported(store: events.store.kind)) }
        do throws(RuleFault) {
            let resolved = try loadRules.resolve(rule)
            let request = KeptErasure(rule.inlined(loadRules.rules), through: 0, reason: reason)
            erasures.erase(resolved, request, isDryRun: isDryRun, then: then)
        } catch { refuse(.rule("\(error)")) }
    }

    /// The progress of the erasure under way; nil if there is none. A change is a ``GateChange/progress``.
    public var erasure: ErasureProgress? { erasures.inProgress }

    /// An observable of the ends of erasures that an earlier process began, for the log (Behaviour E2).
    public var finishedErasures: Observable<FinishedErasure> { erasures.finished.observable }

    // MARK: Backups

    /// Begins a copy of the store; nil if the store cannot copy itself.
    ///
    /// The copy leaves the store's id out, and gets its own at its first start. Otherwise the copy and the original
    /// would give the same deduplication key to different events (Behaviour K8).
    public func beginBackup() -> (any StoreBackup)? {
        events.store.beginBackup(without: [StoreIdentity.name])
    }

    // MARK: Limits and memory

    /// Applies new limits (Behaviour Q4).
    public func setLimits(_ limits: StoreLimits) {
        let isOther = limits.retain != events.limits.retain
        events.setLimits(limits)
        if isOther, events.store.canRewind { settlements.add(events.retentionChange ?? .retain(nil)) }
        dispatchers.evaluateAll()
    }
}

/// Operations on the pending events of a dispatcher.
extension Headgate {
    /// Reads the next events that a dispatcher would send, in order, without taking them.
    /// - Parameters:
    ///   - id: the dispatcher's id.
    ///   - after: the sequence number after which to read, from ``QueuePage/next``.
    ///   - limit: the most events, at least one. There may be fewer if they are large.
    ///   - isAwaited: returns false once the caller has no use for the page. Reading ends then, and `then` is not
    ///     called.
    ///   - then: gets the events.
    /// - Returns: false if there is no such dispatcher, and no queue of a removed one (Behaviour Q3). `then` is not
    ///   called in that case.
    public func peek(
        at id: String, after: SequenceNumber = 0, limit: Int, isAwaited: @escaping () -> Bool = { true },
        then: @escaping (Result<QueuePage, StoreFault>) -> Void
    ) -> Bool {
        guard let queue = dispatchers[id]?.queue ?? dispatchers.keptQueue(of: id) else { return false }
        QueuePeek(into: queue, in: events, after: after, limit: limit, isAwaited: isAwaited, then: then).begin()
        return true
    }

    /// Drops the pending events of a dispatcher, and counts them as evicted. Events in flight and later events are
    /// kept.
    /// - Parameters:
    ///   - id: the dispatcher's id.
    ///   - sequenceNumber: the sequence number before which events are dropped; nil for all.
    ///   - then: gets the number of dropped events, once that survives a restart.
    /// - Returns: false if there is no such dispatcher. `then` is not called in that case.
    public func purge(
        _ id: String, before sequenceNumber: SequenceNumber? = nil, then: @escaping (Result<Int, PurgeFault>) -> Void
    ) -> Bool {
        guard dispatchers[id] != nil else { return false }
        let newest = events.lastSequenceNumber
        let through = sequenceNumber.map { min($0 - 1, newest) } ?? newest
        // Events that are being stored are purged as well.
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

/// The reason for an incomplete purge, or for one that may not survive a restart.
public enum PurgeFault: Error, Equatable, Sendable {
    /// The dispatcher was removed during the purge. The rest of its queue is kept (Behaviour Q3).
    case dispatcherRemoved(purged: Int)
    /// All events were purged, but that could not be written to the store.
    case store(StoreFault)
}

// MARK: - Status

extension Headgate {
    /// All dispatchers in alphabetical order.
    public var dispatcherSummaries: [DispatcherSummary] {
        dispatchers.ids.compactMap { dispatchers[$0] }.map(summary)
    }

    /// All barriers in the order of their registration.
    public var barrierSummaries: [BarrierSummary] { coordinator.summaries }

    /// The number and size of stored events that at least one dispatcher has not settled.
    public var stored: Tally { events.backlog.live }

    /// The age of the oldest unsettled event; nil if there is none.
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

    /// The outcomes of all dispatchers' events since the start, in alphabetical order of the dispatchers.
    public var outcomes: [DispatcherOutcomes] {
        dispatchers.ids.compactMap { dispatchers[$0] }.map {
            DispatcherOutcomes(
                dispatcher: $0.id, incarnation: $0.incarnation, counters: $0.counters, lastError: $0.lastError)
        }
    }
}
