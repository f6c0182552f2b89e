/// Answers all waiting traces with one scan of the store (Behaviour O2).
///
/// A scan for an unknown id reads the whole backlog. Many such scans in sequence would delay the next trace, so traces
/// that are requested during a round wait for the next round. A trace that no client waits for is dropped.
final class TracePass {
    private let gate: Headgate
    private var queries: [TraceQuery]
    private let done: () -> Void

    private static let lettersPerPage = 256

    init(_ gate: Headgate, _ queries: [TraceQuery], done: @escaping () -> Void) {
        (self.gate, self.queries, self.done) = (gate, queries, done)
    }

    func begin() {
        dropUnwanted()
        for query in queries { query.takeRemembered() }
        find(queries.compactMap { query in query.range.map { (query, $0) } })
    }

    // MARK: Finding

    /// Reads the known sequence numbers one by one, and scans the rest of the store once.
    private func find(_ asked: [(query: TraceQuery, range: ClosedRange<SequenceNumber>)]) {
        let places = asked.filter { $0.range.count == 1 }
        let wide = asked.filter { $0.range.count > 1 }.map(\.range)
        var scans = Set(places.map(\.range.lowerBound)).sorted().map { $0...$0 }
        if let first = wide.map(\.lowerBound).min(), let last = wide.map(\.upperBound).max() {
            scans.append(first...last)
        }
        let ids = Set(asked.map(\.query.id)).map { Array($0.utf8) }
        findNext(ids, scans[...])
    }

    private func findNext(_ ids: [[UInt8]], _ scans: ArraySlice<ClosedRange<SequenceNumber>>) {
        guard let range = scans.first else { return readLetters(after: 0) }
        run(EventScan(for: ids, after: range.lowerBound - 1, through: range.upperBound)) { [self] survey in
            for record in survey.found {
                for query in queries { query.take(record) }
            }
            findNext(ids, scans.dropFirst())
        }
    }

    private func readLetters(after: LetterNumber) {
        guard !dropUnwanted() else { return done() }
        var query = DeadLetterQuery(limit: TracePass.lettersPerPage)
        query.after = after
        gate.deadLetterWork.read(query) { [self] result in
            switch result {
            case .success(let page):
                for letter in page.letters {
                    for query in queries { query.take(letter) }
                }
                guard let next = page.next else { return build() }
                readLetters(after: next)
            case .failure(let fault): fail(fault)
            }
        }
    }

    // MARK: Counting

    /// Counts the events that the queries need, one dispatcher at a time: one scan counts for all events of a
    /// dispatcher.
    private func build() {
        let counts = queries.flatMap { query in query.build().map { (query: query, count: $0) } }
        countNext(Dictionary(grouping: counts) { $0.count.dispatcher }.sorted { $0.key < $1.key }.map(\.value)[...])
    }

    private func countNext(_ dispatchers: ArraySlice<[(query: TraceQuery, count: TraceQuery.Count)]>) {
        guard let asked = dispatchers.first, let first = asked.first?.count else { return answer() }
        guard !dropUnwanted() else { return done() }
        let places = Set(asked.map(\.count.place)).sorted()
        let survey = EventScan(
            countingAfter: first.readThrough, before: places, settled: first.settled, sweep: gate.events.sweep)
        run(survey) { [self] survey in
            for (query, count) in asked {
                let before = survey.count(before: count.place) { route in
                    gate.events.routes.dispatchers(of: route).contains(count.dispatcher)
                }
                query.counted(count, before)
            }
            countNext(dispatchers.dropFirst())
        }
    }

    private func answer() {
        for query in queries { query.answer() }
        done()
    }

    // MARK: Steps

    /// Drops the queries that no client waits for. Returns true if none is left.
    @discardableResult
    private func dropUnwanted() -> Bool {
        for query in queries where !query.isWanted() { query.drop() }
        queries.removeAll { !$0.isWanted() }
        return queries.isEmpty
    }

    private func run(_ survey: EventScan, _ next: @escaping (EventScan) -> Void) {
        guard !dropUnwanted() else { return done() }
        guard !survey.isOver else { return next(survey) }
        gate.events.store.survey(survey) { [self] result in
            switch result {
            case .success(let survey): run(survey, next)
            case .failure(let fault): fail(fault)
            }
        }
    }

    private func fail(_ fault: StoreFault) {
        for query in queries { query.fail(fault) }
        done()
    }
}
