extension Headgate {
    /// Starts a flush of what these dispatchers have queued now (Behaviour F1). What was offered to the queue before is
    /// covered as well: the flush begins once that is stored.
    /// - Parameters:
    ///   - id: the flush's name, to cancel it by; made up when nil.
    ///   - ids: the dispatchers; nil is all.
    ///   - timeout: after which it ends in any case; nil is never.
    ///   - then: is told how it ended.
    /// - Returns: the flush's name; nil when a dispatcher is unknown.
    public func flush(
        id: String? = nil, dispatchers ids: [String]? = nil, timeout: Duration?, then: @escaping (FlushAnswer) -> Void
    ) -> Result<String, FlushRefusal> {
        let ids = ids ?? dispatcherIds
        if let unknown = ids.first(where: { dispatchers[$0] == nil }) { return .failure(.unknownDispatcher(unknown)) }
        let name = id ?? unusedFlushName()
        guard !flushes.isUnderWay(name), !beginning.contains(name) else { return .failure(.idInUse) }
        beginning.insert(name)
        events.whenCommitted { [weak self] _ in
            guard let self, self.beginning.remove(name) != nil else {
                return then(FlushAnswer(ended: .cancelled, dispatchers: [:]))
            }
            self.flushes.start(name, parts: self.flushParts(ids), timeout: timeout, then: then)
        }
        return .success(name)
    }

    /// Ends a flush before its time (Behaviour F4).
    /// - Returns: false when there is none of this name.
    public func cancelFlush(_ id: String) -> Bool {
        beginning.remove(id) != nil || flushes.cancel(id)
    }

    private func flushParts(_ ids: [String]) -> [String: FlushTable.Part] {
        let parts = ids.compactMap { id in
            dispatchers[id].map { (id, FlushTable.Part(target: events.lastStored, left: $0.unsettled.events)) }
        }
        return Dictionary(parts) { first, _ in first }
    }

    private func unusedFlushName() -> String {
        defer { nextFlush += 1 }
        let name = "flush-\(nextFlush)"
        return flushes.isUnderWay(name) || beginning.contains(name) ? "\(name)-\(nextFlush)" : name
    }
}

/// Why a flush does not begin.
public enum FlushRefusal: Error, Equatable, Sendable {
    case unknownDispatcher(String)
    /// A flush of this name is under way.
    case idInUse
}
