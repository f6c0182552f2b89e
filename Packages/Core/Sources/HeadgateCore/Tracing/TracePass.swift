/// A pass that answers all waiting traces with one scan of the store (Behaviour O2).
///
/// A scan for an unknown id reads the whole backlog. Many such scans in sequence would delay the next trace, so traces
/// that are requested during a round wait for the next round. A trace that no client waits for is dropped.
final class TracePass {
    private let gate: Headgate
    private var queries: [TraceQuery]

    private static let deadLettersPerPage = 256

    /// The reason why a pass ends early.
    private enum Interruption: Error {
        /// No client waits for an answer any more.
        case unwanted
        /// The store failed.
        case fault(StoreFault)
        /// The store gives no answer any more.
        case ended
    }

    init(_ gate: Headgate, _ queries: [TraceQuery]) {
        (self.gate, self.queries) = (gate, queries)
    }

    /// Answers all queries, or has them fail.
    func run() async throws(RunnerEnded) {
        do throws(Interruption) {
            try dropUnwanted()
            for query in queries { query.takeRemembered() }
            try await find()
            try await readDeadLetters()
            try await count()
            for query in queries { query.answer() }
        } catch {
            switch error {
            case .unwanted: break
            case .fault(let fault): for query in queries { query.fail(fault) }
            case .ended: throw RunnerEnded()
            }
        }
    }

    // MARK: Finding

    /// Reads the known sequence numbers one by one, and scans the rest of the store once.
    private func find() async throws(Interruption) {
        let requested = queries.compactMap { query in query.range.map { (query: query, range: $0) } }
        let ids = Set(requested.map(\.query.id)).map { Array($0.utf8) }
        for range in TracePass.scans(requested.map(\.range)) {
            let scan = try await finish(EventScan(for: ids, after: range.lowerBound - 1, through: range.upperBound))
            for record in scan.found {
                for query in queries { query.take(record) }
            }
        }
    }

    /// Returns the ranges to scan for some queries: each known sequence number, and one range for all the others.
    private static func scans(_ ranges: [ClosedRange<SequenceNumber>]) -> [ClosedRange<SequenceNumber>] {
        let known = Set(ranges.filter { $0.count == 1 }.map(\.lowerBound)).sorted().map { $0...$0 }
        let wide = ranges.filter { $0.count > 1 }
        guard let first = wide.map(\.lowerBound).min(), let last = wide.map(\.upperBound).max() else { return known }
        return known + [first...last]
    }

    private func readDeadLetters() async throws(Interruption) {
        var query = DeadLetterQuery(limit: TracePass.deadLettersPerPage)
        while true {
            try dropUnwanted()
            let page = try await page(query)
            for deadLetter in page.deadLetters {
                for query in queries { query.take(deadLetter) }
            }
            guard let next = page.next else { return }
            query.after = next
        }
    }

    // MARK: Counting

    /// Counts the events that the queries need, one dispatcher at a time: one scan counts for all events of a
    /// dispatcher.
    private func count() async throws(Interruption) {
        let counts = queries.flatMap { query in query.build().map { (query: query, count: $0) } }
        for (dispatcher, requested) in Dictionary(grouping: counts, by: \.count.dispatcher).sorted(by: {
            $0.key < $1.key
        }) {
            let first = requested[0].count
            let scan = try await finish(
                EventScan(
                    countingAfter: first.readThrough, before: Set(requested.map(\.count.sequenceNumber)).sorted(),
                    settled: first.settled, sweep: gate.events.sweep))
            for (query, count) in requested {
                let before = scan.count(before: count.sequenceNumber) { route in
                    gate.events.routes.dispatchers(of: route).contains(dispatcher)
                }
                query.counted(count, before)
            }
        }
    }

    // MARK: Steps

    /// Drops the queries that no client waits for. Throws if none is left.
    private func dropUnwanted() throws(Interruption) {
        for query in queries where !query.isAwaited() { query.drop() }
        queries.removeAll { !$0.isAwaited() }
        if queries.isEmpty { throw .unwanted }
    }

    /// Has the store continue a scan to its end, and returns it.
    private func finish(_ scan: EventScan) async throws(Interruption) -> EventScan {
        var scan = scan
        try dropUnwanted()
        while !scan.isOver {
            let result: Result<EventScan, StoreFault>
            do throws(RunnerEnded) {
                result = try await gate.tasks.answer { gate.events.store.scan(scan, then: $0) }
            } catch { throw .ended }
            scan = try TracePass.value(of: result)
            try dropUnwanted()
        }
        return scan
    }

    private func page(_ query: DeadLetterQuery) async throws(Interruption) -> StoredDeadLetterPage {
        let result: Result<StoredDeadLetterPage, StoreFault>?
        do throws(RunnerEnded) { result = try await gate.deadLetters.page(query) } catch { throw .ended }
        guard let result else { throw .ended }
        return try TracePass.value(of: result)
    }

    private static func value<Value>(of result: Result<Value, StoreFault>) throws(Interruption) -> Value {
        switch result {
        case .success(let value): return value
        case .failure(let fault): throw .fault(fault)
        }
    }
}
