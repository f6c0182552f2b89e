/// The queries of traces, which are answered in rounds: a round may scan the whole store.
final class TraceQueries {
    /// Queries that wait for the end of the present round.
    private var waiting: [TraceQuery] = []
    private var isBusy = false

    /// Answers a query, together with all others that are waiting.
    func ask(_ query: TraceQuery, of gate: Headgate) {
        waiting.append(query)
        startNext(gate)
    }

    private func startNext(_ gate: Headgate) {
        guard !isBusy, !waiting.isEmpty else { return }
        isBusy = true
        // Queries of the same turn are answered in the same round.
        gate.scheduler.soon { [self] in
            let queries = waiting
            waiting = []
            TracePass(gate, queries) { [self] in
                isBusy = false
                startNext(gate)
            }.begin()
        }
    }
}
