extension Headgate {
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
        let name = id ?? unusedFlushName()
        guard !flushes.isUnderWay(name) else { return .failure(.idInUse) }
        flushes.start(name, parts: flushParts(ids), timeout: timeout, then: then)
        events.whenCommitted { [weak self] fault in
            if fault != nil { self?.leaveOutUnstored(name, ids) }
        }
        return .success(name)
    }

    /// Ends a flush before its time (Behaviour F4).
    /// - Returns: false when there is none of this name.
    public func cancelFlush(_ id: String) -> Bool {
        flushes.cancel(id)
    }

    /// Flushes what the dispatchers behind ConnectivityBarriers have queued by now (Behaviour F5). It covers all that the
    /// former flush of this kind did, which nobody waits for: a network that comes and goes has one flush, not thousands.
    func flushBehindConnectivity(timeout: Duration) {
        let barriers = barrierSummaries.filter { $0.identity.kind == ConnectivityBarrier.id }
        let behind = Set(barriers.flatMap { $0.states.map(\.dispatcher) })
        guard !behind.isEmpty else { return }
        if let returnFlush { _ = cancelFlush(returnFlush) }
        let start = flush(dispatchers: behind.sorted(), timeout: timeout) { [weak self] _ in self?.returnFlush = nil }
        if case .success(let id) = start { returnFlush = id }
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

    private func unusedFlushName() -> String {
        // Clients may have called theirs anything.
        repeat { nextFlush += 1 } while flushes.isUnderWay("flush-\(nextFlush)")
        return "flush-\(nextFlush)"
    }
}

/// Why a flush does not begin.
public enum FlushRefusal: Error, Equatable, Sendable {
    case unknownDispatcher(String)
    /// A flush of this name is under way.
    case idInUse
}
