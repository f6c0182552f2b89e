/// Requeues, deletes and reads dead letters for operators (Behaviour D10). Operations run one after another, so that
/// two requests to requeue a letter do not send its event twice. Only one page of letters is in memory at a time.
///
/// A removed dispatcher whose queue is kept still has its letters: they can be read and purged, and requeued when the
/// dispatcher is back.
public final class DeadLetterOperations {
    private let events: EventQueue
    private let settlements: Settlements
    private let dispatchers: Dispatchers
    private let counts: EventCounts
    private let letters: DeadLetterTotals
    private let tasks: TaskRunner
    /// Returns the number of an event's namespace, or 0 if it is unknown. A requeued event keeps its namespace.
    var namespace: (StoredEvent) -> InternedTexts.Number = { _ in 0 }
    /// The number and size of all dead letters, stored or still being written.
    public var used: Tally { letters.used }
    private let changes: OneAtATime
    private let reads: OneAtATime

    /// The most letters to requeue in one group, or to delete in one step.
    private static let pageSize = 256

    init(
        events: EventQueue, settlements: Settlements, counts: EventCounts, dispatchers: Dispatchers,
        letters: DeadLetterTotals, tasks: TaskRunner
    ) {
        self.events = events
        self.settlements = settlements
        self.dispatchers = dispatchers
        self.counts = counts
        self.letters = letters
        self.tasks = tasks
        changes = OneAtATime(tasks)
        reads = OneAtATime(tasks)
    }

    // MARK: Reading

    /// Reads a page of letters, the oldest first, after the pages that were requested before it.
    /// - Parameters:
    ///   - dispatcher: the dispatcher whose letters are read; nil for all.
    ///   - after: the number after which letters are read.
    ///   - limit: the most letters to read, at least one.
    ///   - isWanted: returns false once the caller has no use for the page. It is not read then, and `then` is not
    ///     called.
    ///   - then: gets the letters.
    /// - Returns: false if there is no such dispatcher. `then` is not called in that case.
    public func read(
        of dispatcher: String? = nil, after: DeadLetterNumber = 0, limit: Int,
        isWanted: @escaping () -> Bool = { true },
        then: @escaping (Result<StoredDeadLetterPage, StoreFault>) -> Void
    ) -> Bool {
        guard var query = query(of: dispatcher, limit: limit) else { return false }
        query.after = after
        tasks.run { [self] () async throws(Abandoned) in
            if let page = try await page(query, isWanted: isWanted) { then(page) }
        }
        return true
    }

    private func query(of dispatcher: String?, _ letters: Set<DeadLetterNumber>? = nil, limit: Int) -> DeadLetterQuery?
    {
        guard let dispatcher else { return DeadLetterQuery(letters: letters, limit: limit) }
        return dispatchers.known[dispatcher].map {
            DeadLetterQuery(dispatcher: $0.number, letters: letters, limit: limit)
        }
    }

    /// Returns a page of letters, after the pages that were requested before it; nil if it is not wanted any more.
    func page(
        _ query: DeadLetterQuery, isWanted: () -> Bool = { true }
    ) async throws(Abandoned) -> Result<StoredDeadLetterPage, StoreFault>? {
        try await reads.run { () async throws(Abandoned) -> Result<StoredDeadLetterPage, StoreFault>? in
            guard isWanted() else { return nil }
            // Letters that are still being written are included.
            _ = try await tasks.answer(settlements.whenWritten)
            return try await tasks.answer { events.store.readDeadLetters(query, then: $0) }
        }
    }

    // MARK: One operation at a time

    /// Does work while no other operation changes dead letters. The work calls its parameter at its end.
    func inTurn(_ work: @escaping (@escaping () -> Void) -> Void) {
        tasks.run { [self] () async throws(Abandoned) in
            try await changes.run { () async throws(Abandoned) in
                _ = try await tasks.answer(settlements.whenWritten)
                try await tasks.answer { (done: @escaping (()) -> Void) in work { done(()) } }
            }
        }
    }

    // MARK: Requeuing

    /// Puts the events of dead letters into the queue again: with the same ids, at the end of the queue, and each for
    /// its letter's dispatcher only. Their ages and times to live start again, and so do their attempts.
    /// - Parameters:
    ///   - dispatcher: the dispatcher whose letters are requeued; nil for all configured ones.
    ///   - letters: the numbers of the letters; nil for all.
    ///   - then: gets the number of requeued letters, once they are stored.
    /// - Returns: false if there is no such dispatcher. `then` is not called in that case.
    public func requeue(
        of dispatcher: String? = nil, _ letters: Set<DeadLetterNumber>? = nil,
        then: @escaping (Result<Int, RequeueFault>) -> Void
    ) -> Bool {
        guard dispatcher.map(dispatchers.contains) ?? true,
            let query = query(of: dispatcher, letters, limit: DeadLetterOperations.pageSize)
        else { return false }
        tasks.run { [self] () async throws(Abandoned) in
            then(try await changes.run { () async throws(Abandoned) in try await requeue(query) })
        }
        return true
    }

    private func requeue(_ selected: DeadLetterQuery) async throws(Abandoned) -> Result<Int, RequeueFault> {
        var (query, requeued) = (selected, 0)
        _ = try await tasks.answer(settlements.whenWritten)
        while true {
            let page: StoredDeadLetterPage
            switch try await tasks.answer({ events.store.readDeadLetters(query, then: $0) }) {
            case .success(let read): page = read
            case .failure(let fault): return .failure(.store(fault, requeued: requeued))
            }
            let (count, isFull) = readmit(page.letters)
            if let fault = try await tasks.answer(events.whenCommitted) {
                return .failure(.store(fault, requeued: requeued))
            }
            requeued += count
            letters.changed()
            counts.count(.requeued, count)
            if isFull { return .failure(.queueFull(requeued: requeued)) }
            guard let next = page.next else { return .success(requeued) }
            query.after = next
            // An event that becomes a dead letter again meanwhile is not requeued another time.
            query.through = min(query.through, page.newest)
        }
    }

    /// Adds the events of some letters to the current commit group, as far as there is room.
    private func readmit(_ letters: [StoredDeadLetter]) -> (count: Int, isFull: Bool) {
        var count = 0
        for letter in letters where dispatchers.isConfigured(letter.letter.dispatcher) {
            guard let event = letter.letter.event else { continue }
            guard case .stored = events.readmit(event, of: letter, namespace: namespace(event)) else {
                return (count, true)
            }
            count += 1
        }
        return (count, false)
    }

    // MARK: Purging

    /// Deletes dead letters.
    /// - Parameters:
    ///   - dispatcher: the dispatcher whose letters are deleted; nil for all.
    ///   - letters: the numbers of the letters; nil for all.
    ///   - then: gets the number of deleted letters.
    /// - Returns: false if there is no such dispatcher. `then` is not called in that case.
    public func purge(
        of dispatcher: String? = nil, _ letters: Set<DeadLetterNumber>? = nil,
        then: @escaping (Result<Int, StoreFault>) -> Void
    ) -> Bool {
        guard let query = query(of: dispatcher, letters, limit: 1) else { return false }
        tasks.run { [self] () async throws(Abandoned) in
            then(try await changes.run { () async throws(Abandoned) in try await purge(query) })
        }
        return true
    }

    /// Deletes the letters that exist now. Letters that are added while pages are deleted are kept.
    private func purge(_ selected: DeadLetterQuery) async throws(Abandoned) -> Result<Int, StoreFault> {
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
            letters.changed()
            guard case .success(let count) = result else { return result }
            counts.count(.purgedLetters, count)
            purged += count
            if count < query.limit { return .success(purged) }
        }
    }
}

/// The reason why some of the selected dead letters were not requeued. These letters are kept.
public enum RequeueFault: Error, Equatable, Sendable {
    /// The store has no room for more events (Behaviour Q4).
    case queueFull(requeued: Int)
    /// The store failed.
    case store(StoreFault, requeued: Int)
}
