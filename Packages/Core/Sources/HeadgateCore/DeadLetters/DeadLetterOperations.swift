/// Requeues, deletes and reads dead letters for operators (Behaviour D10). Operations run one after another, so that
/// two requests to requeue a letter do not send its event twice. Only one page of letters is in memory at a time.
final class DeadLetterOperations {
    private let events: EventQueue
    private let settlements: Settlements
    private let dispatchers: Dispatchers
    private let counts: EventCounts
    private let letters: DeadLetterTotals
    /// Returns the number of an event's namespace, or 0 if it is unknown. A requeued event keeps its namespace.
    var namespace: (StoredEvent) -> InternedTexts.Number = { _ in 0 }
    private var waiting: [(@escaping () -> Void) -> Void] = []
    private var isBusy = false
    /// The requested pages, without the one that is being read.
    private var readers: [Reader] = []
    private var isReading = false

    private struct Reader {
        let query: DeadLetterQuery
        let isWanted: () -> Bool
        let then: (Result<LetterPage, StoreFault>) -> Void
    }

    /// The most letters to requeue in one group, or to delete in one step.
    private static let pageSize = 256

    init(
        events: EventQueue, settlements: Settlements, counts: EventCounts, dispatchers: Dispatchers,
        letters: DeadLetterTotals
    ) {
        self.events = events
        self.settlements = settlements
        self.counts = counts
        self.dispatchers = dispatchers
        self.letters = letters
    }

    /// Reads a page of letters, after the pages that were requested before it.
    /// - Parameter isWanted: returns false once the caller has no use for the page. It is not read then, and `then` is not called.
    func read(
        _ query: DeadLetterQuery, isWanted: @escaping () -> Bool = { true },
        then: @escaping (Result<LetterPage, StoreFault>) -> Void
    ) {
        readers.append(Reader(query: query, isWanted: isWanted, then: then))
        readNext()
    }

    private func readNext() {
        guard !isReading, let next = readers.firstIndex(where: { $0.isWanted() }) else { return }
        let reader = readers[next]
        readers.removeFirst(next + 1)
        isReading = true
        // Letters that are still being written are included.
        settlements.whenWritten { [self] _ in
            events.store.readLetters(reader.query) { [self] result in
                isReading = false
                reader.then(result)
                readNext()
            }
        }
    }

    /// Adds the events of the selected letters to the queue again. The result is their number.
    func requeue(_ query: DeadLetterQuery, then: @escaping (Result<Int, RequeueFault>) -> Void) {
        var query = query
        query.limit = DeadLetterOperations.pageSize
        inTurn { [self] done in
            requeuePage(Requeue(query: query)) { result in
                done()
                then(result)
            }
        }
    }

    /// Deletes the selected letters. The result is their number.
    func purge(_ query: DeadLetterQuery, then: @escaping (Result<Int, StoreFault>) -> Void) {
        var query = query
        query.limit = 1
        inTurn { [self, query] done in
            purgeThere(query) { result in
                done()
                then(result)
            }
        }
    }

    // MARK: One operation at a time

    /// Does work while no other operation changes dead letters. The work calls its parameter at its end.
    func inTurn(_ work: @escaping (@escaping () -> Void) -> Void) {
        waiting.append(work)
        startNext()
    }

    private func startNext() {
        guard !isBusy, !waiting.isEmpty else { return }
        isBusy = true
        let work = waiting.removeFirst()
        settlements.whenWritten { [self] _ in
            work {
                self.isBusy = false
                self.startNext()
            }
        }
    }

    // MARK: Requeuing

    private struct Requeue {
        var query: DeadLetterQuery
        /// The number of events that are stored in the queue again.
        var count = 0
    }

    private func requeuePage(_ requeue: Requeue, _ then: @escaping (Result<Int, RequeueFault>) -> Void) {
        events.store.readLetters(requeue.query) { [self] result in
            switch result {
            case .success(let page): readmit(page, requeue, then)
            case .failure(let fault): then(.failure(.store(fault, requeued: requeue.count)))
            }
        }
    }

    /// Adds the events of a page to one commit group, as far as there is room.
    private func readmit(
        _ page: LetterPage, _ requeue: Requeue, _ then: @escaping (Result<Int, RequeueFault>) -> Void
    ) {
        let (count, isFull) = readmit(page.letters)
        events.whenCommitted { [self] fault in
            var requeue = requeue
            if let fault { return then(.failure(.store(fault, requeued: requeue.count))) }
            requeue.count += count
            letters.changed()
            counts.count(.requeued, count)
            if isFull { return then(.failure(.queueFull(requeued: requeue.count))) }
            guard let next = page.next else { return then(.success(requeue.count)) }
            requeue.query.after = next
            // An event that becomes a dead letter again meanwhile is not requeued another time.
            requeue.query.through = min(requeue.query.through, page.newest)
            requeuePage(requeue, then)
        }
    }

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

    /// Deletes the letters that exist now. Letters that are added while pages are deleted are kept.
    private func purgeThere(_ query: DeadLetterQuery, _ then: @escaping (Result<Int, StoreFault>) -> Void) {
        events.store.readLetters(query) { [self] result in
            switch result {
            case .success(let page):
                var query = query
                query.limit = DeadLetterOperations.pageSize
                query.through = min(query.through, page.newest)
                purgePage(query, before: 0, then)
            case .failure(let fault): then(.failure(fault))
            }
        }
    }

    private func purgePage(
        _ query: DeadLetterQuery, before: Int, _ then: @escaping (Result<Int, StoreFault>) -> Void
    ) {
        events.store.purgeLetters(query) { [self] result in
            letters.changed()
            if case .success(let count) = result { counts.count(.purgedLetters, count) }
            guard case .success(let count) = result, count == query.limit else {
                return then(result.map { $0 + before })
            }
            purgePage(query, before: before + count, then)
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
