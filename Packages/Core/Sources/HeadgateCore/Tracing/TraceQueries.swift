/// The queries of traces, which are answered in rounds: a round may scan the whole store.
final class TraceQueries {
    /// Queries that wait for the end of the present round.
    private var waiting: [TraceQuery] = []
    private var isBusy = false

    /// Answers a query, together with all others that are waiting.
    func ask(_ query: TraceQuery, of gate: Headgate) {
        waiting.append(query)
        guard !isBusy else { return }
        isBusy = true
        // A task begins later in the turn, so that queries of the same turn are answered in the same round.
        gate.tasks.run { [self] () async throws(RunnerEnded) in
            while !waiting.isEmpty {
                let queries = waiting
                waiting = []
                try await TracePass(gate, queries).run()
            }
            isBusy = false
        }
    }
}
