/// Requeues, deletes and reads dead letters for operators (Behaviour D10). Operations run one after another, so that
/// two requests to requeue a letter do not send its event twice. Only one page of letters is in memory at a time.
final class DeadLetterOperations {
    private let events: EventQueue
    private let settlements: Settlements
    private let dispatchers: Dispatchers
    private let counts: EventCounts
    private let letters: DeadLetterTotals
    private let tasks: TaskRunner
    /// Returns the number of an event's namespace, or 0 if it is unknown. A requeued event keeps its namespace.
    var namespace: (StoredEvent) -> InternedTexts.Number = { _ in 0 }
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

    /// Reads a page of letters, after the pages that were requested before it.
    /// - Parameter isWanted: returns false once the caller has no use for the page. It is not read then, and `then` is
    ///   not called.
    func read(
        _ query: DeadLetterQuery, isWanted: @escaping () -> Bool,
        then: @escaping (Result<LetterPage, StoreFault>) -> Void
    ) {
        tasks.run { [self] () async throws(Abandoned) in
            if let page = try await page(query, isWanted: isWanted) { then(page) }
        }
    }

    /// Returns a page of letters, after the pages that were requested before it; nil if it is not wanted any more.
    func page(
        _ query: DeadLetterQuery, isWanted: () -> Bool = { true }
    ) async throws(Abandoned) -> Result<LetterPage, StoreFault>? {
        try await reads.run { () async throws(Abandoned) -> Result<LetterPage, StoreFault>? in
            guard isWanted() else { return nil }
            // Letters that are still being written are included.
            _ = try await tasks.answer(settlements.whenWritten)
            return try await tasks.answer { events.store.readLetters(query, then: $0) }
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

    /// Adds the events of the selected letters to the queue again. The result is their number.
    func requeue(_ query: DeadLetterQuery, then: @escaping (Result<Int, RequeueFault>) -> Void) {
        tasks.run { [self] () async throws(Abandoned) in
            then(try await changes.run { () async throws(Abandoned) in try await requeue(query) })
        }
    }

    private func requeue(_ selected: DeadLetterQuery) async throws(Abandoned) -> Result<Int, RequeueFault> {
        var query = selected
        query.limit = DeadLetterOperations.pageSize
        var requeued = 0
        _ = try await tasks.answer(settlements.whenWritten)
        while true {
            let page: LetterPage
            switch try await tasks.answer({ events.store.readLetters(query, then: $0) }) {
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
    private func readmit(_ letters: [StoredLetter]) -> (count: Int, isFull: Bool) {
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

    /// Deletes the selected letters. The result is their number.
    func purge(_ query: DeadLetterQuery, then: @escaping (Result<Int, StoreFault>) -> Void) {
        tasks.run { [self] () async throws(Abandoned) in
            then(try await changes.run { () async throws(Abandoned) in try await purge(query) })
        }
    }

    /// Deletes the letters that exist now. Letters that are added while pages are deleted are kept.
    private func purge(_ selected: DeadLetterQuery) async throws(Abandoned) -> Result<Int, StoreFault> {
        var query = selected
        query.limit = 1
        _ = try await tasks.answer(settlements.whenWritten)
        switch try await tasks.answer({ events.store.readLetters(query, then: $0) }) {
        case .success(let page): query.through = min(query.through, page.newest)
        case .failure(let fault): return .failure(fault)
        }
        query.limit = DeadLetterOperations.pageSize
        var purged = 0
        while true {
            let result = try await tasks.answer { events.store.purgeLetters(query, then: $0) }
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
