/// Requeues, deletes and reads dead letters for operators (Behaviour D10). Operations run one after another, so that
/// two requests to requeue a dead letter do not send its event twice. Only one page is in memory at a time.
///
/// A removed dispatcher whose queue is kept still has its dead letters: they can be read and purged, and requeued when
/// the dispatcher is back.
public final class DeadLetterOperations {
    private let events: EventQueue
    private let settlements: Settlements
    private let dispatchers: Dispatchers
    private let counts: EventCounts
    private let totals: DeadLetterTotals
    private let tasks: TaskRunner
    /// Returns the number of an event's namespace, or 0 if it is unknown. A requeued event keeps its namespace.
    var namespace: (StoredEvent) -> InternedTexts.Number = { _ in 0 }
    /// The number and size of all dead letters, stored or still being written.
    public var used: Tally { totals.used }
    private let changes: OneAtATime
    private let reads: OneAtATime

    /// The most dead letters to requeue in one group, or to delete in one step.
    private static let pageSize = 256

    init(
        events: EventQueue, settlements: Settlements, counts: EventCounts, dispatchers: Dispatchers,
        totals: DeadLetterTotals, tasks: TaskRunner
    ) {
        self.events = events
        self.settlements = settlements
        self.dispatchers = dispatchers
        self.counts = counts
        self.totals = totals
        self.tasks = tasks
        changes = OneAtATime(tasks)
        reads = OneAtATime(tasks)
    }

    // MARK: Reading

    /// Reads a page of dead letters, the oldest first, after the pages that were requested before it.
    /// - Parameters:
    ///   - dispatcher: the dispatcher whose dead letters are read; nil for all.
    ///   - after: the number after which dead letters are read.
    ///   - limit: the most dead letters to read, at least one.
    ///   - requiresAll: true to fail if the store could not write some dead letters. Otherwise these
    ///     are missing from the page.
    ///   - isAwaited: returns false once the caller has no use for the page. It is not read then, and `then` is not
    ///     called.
    ///   - then: gets the dead letters.
    /// - Returns: false if there is no such dispatcher. `then` is not called in that case.
    public func read(
        of dispatcher: String? = nil, after: DeadLetterNumber = 0, limit: Int, requiresAll: Bool = false,
        isAwaited: @escaping () -> Bool = { true },
        then: @escaping (Result<StoredDeadLetterPage, StoreFault>) -> Void
    ) -> Bool {
        guard var query = query(of: dispatcher, limit: limit) else { return false }
        query.after = after
        tasks.run { [self] () async throws(RunnerEnded) in
            let page = try await page(query, requiresAll: requiresAll, isAwaited: isAwaited)
            if let page { then(page) }
        }
        return true
    }

    private func query(of dispatcher: String?, _ numbers: Set<DeadLetterNumber>? = nil, limit: Int) -> DeadLetterQuery?
    {
        guard let dispatcher else { return DeadLetterQuery(numbers: numbers, limit: limit) }
        return dispatchers.known[dispatcher].map {
            DeadLetterQuery(dispatcher: $0.number, numbers: numbers, limit: limit)
        }
    }

    /// Returns a page of dead letters, after the pages that were requested before it; nil if it is not wanted any more.
    func page(
        _ query: DeadLetterQuery, requiresAll: Bool = false, isAwaited: () -> Bool = { true }
    ) async throws(RunnerEnded) -> Result<StoredDeadLetterPage, StoreFault>? {
        try await reads.run { () async throws(RunnerEnded) -> Result<StoredDeadLetterPage, StoreFault>? in
            guard isAwaited() else { return nil }
            // Dead letters that are still being written are included.
            let fault = try await tasks.answer(settlements.whenWritten)
            if let fault, requiresAll { return .failure(fault) }
            return try await tasks.answer { events.store.readDeadLetters(query, then: $0) }
        }
    }

    // MARK: One operation at a time

    /// Does work while no other operation changes dead letters. The work calls its parameter at its end.
    func inTurn(_ work: @escaping (@escaping () -> Void) -> Void) {
        tasks.run { [self] () async throws(RunnerEnded) in
            try await changes.run { () async throws(RunnerEnded) in
                _ = try await tasks.answer(settlements.whenWritten)
                try await tasks.answer { (done: @escaping (()) -> Void) in work { done(()) } }
            }
        }
    }

    // MARK: Requeuing

    /// Puts the events of dead letters into the queue again: with the same ids, at the end of the queue, and each for
    /// its dead letter's dispatcher only. Their ages and times to live start again, and so do their attempts.
    /// - Parameters:
    ///   - dispatcher: the dispatcher whose dead letters are requeued; nil for all configured ones.
    ///   - numbers: the numbers of the dead letters; nil for all.
    ///   - then: gets the number of requeued dead letters, once they are stored.
    /// - Returns: false if there is no such dispatcher. `then` is not called in that case.
    public func requeue(
        of dispatcher: String? = nil, _ numbers: Set<DeadLetterNumber>? = nil,
        then: @escaping (Result<Int, RequeueFault>) -> Void
    ) -> Bool {
        guard dispatcher.map(dispatchers.contains) ?? true,
            let query = query(of: dispatcher, numbers, limit: DeadLetterOperations.pageSize)
        else { return false }
        tasks.run { [self] () async throws(RunnerEnded) in
            then(try await changes.run { () async throws(RunnerEnded) in try await requeue(query) })
        }
        return true
    }

    private func requeue(_ selected: DeadLetterQuery) async throws(RunnerEnded) -> Result<Int, RequeueFault> {
        var (query, requeued) = (selected, 0)
        _ = try await tasks.answer(settlements.whenWritten)
        while true {
            let page: StoredDeadLetterPage
            switch try await tasks.answer({ events.store.readDeadLetters(query, then: $0) }) {
            case .success(let read): page = read
            case .failure(let fault): return .failure(.store(fault, requeued: requeued))
            }
            let (count, isFull) = readmit(page.deadLetters)
            if let fault = try await tasks.answer(events.whenCommitted) {
                return .failure(.store(fault, requeued: requeued))
            }
            requeued += count
            totals.changed()
            counts.count(.requeued, count)
            if isFull { return .failure(.queueFull(requeued: requeued)) }
            guard let next = page.next else { return .success(requeued) }
            query.after = next
            // An event that becomes a dead letter again meanwhile is not requeued another time.
            query.through = min(query.through, page.newest)
        }
    }

    /// Adds the events of some dead letters to the current commit group, as far as there is room.
    private func readmit(_ deadLetters: [StoredDeadLetter]) -> (count: Int, isFull: Bool) {
        var count = 0
        for stored in deadLetters where dispatchers.isConfigured(stored.deadLetter.dispatcher) {
            guard let event = stored.deadLetter.event else { continue }
            guard case .stored = events.readmit(event, of: stored, namespace: namespace(event)) else {
                return (count, true)
            }
            count += 1
        }
        return (count, false)
    }

    // MARK: Purging

    /// Deletes dead letters.
    /// - Parameters:
    ///   - dispatcher: the dispatcher whose dead letters are deleted; nil for all.
    ///   - numbers: the numbers of the dead letters; nil for all.
    ///   - then: gets the number of deleted dead letters.
    /// - Returns: false if there is no such dispatcher. `then` is not called in that case.
    public func purge(
        of dispatcher: String? = nil, _ numbers: Set<DeadLetterNumber>? = nil,
        then: @escaping (Result<Int, StoreFault>) -> Void
    ) -> Bool {
        guard let query = query(of: dispatcher, numbers, limit: 1) else { return false }
        tasks.run { [self] () async throws(RunnerEnded) in
            then(try await changes.run { () async throws(RunnerEnded) in try await purge(query) })
        }
        return true
    }

    /// Deletes the dead letters that exist now. Dead letters that are added while pages are deleted are kept.
    private func purge(_ selected: DeadLetterQuery) async throws(RunnerEnded) -> Result<Int, StoreFault> {
        var query = selected
        _ = try await tasks.answer(settlements.whenWritten)
        switch try await tasks.answer({ events.store.readDeadLetters(query, then: $0) }) {
        case .success(let page): query.through = min(query.through, page.newest)
        case .failure(let fault): return .failure(fault)
        }
        query.limit = DeadLetterOperations.pageSize
        var purged = 0
        while true {
            let result = try await tasks.answer { events.store.purgeDeadLetters(query, then: $0) }
            totals.changed()
            guard case .success(let count) = result else { return result }
            counts.count(.purgedLetters, count)
            purged += count
            if count < query.limit { return .success(purged) }
        }
    }
}

/// The reason why some of the selected dead letters were not requeued. These dead letters are kept.
public enum RequeueFault: Error, Equatable, Sendable {
    /// The store has no room for more events (Behaviour Q4).
    case queueFull(requeued: Int)
    /// The store failed.
    case store(StoreFault, requeued: Int)
}
