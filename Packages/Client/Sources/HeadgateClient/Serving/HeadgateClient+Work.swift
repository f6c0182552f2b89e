extension HeadgateClient {
    /// What a worker makes of a batch: outcomes by the events' ids. Events that it does not name are delivered.
    public typealias Work = @Sendable (DeliveredBatch) async throws -> [String: DeliveredEventOutcome]

    /// Works for a dispatcher of kind `worker` (Behaviour K3), until the task is cancelled.
    ///
    /// When the daemon restarts, it goes on. A batch that `work` throws for is given to a worker once more. When the task is
    /// cancelled, so are the calls of `work`; what they say then still counts, and the last batches may be answered for
    /// after this has returned.
    /// - Parameters:
    ///   - dispatcher: its id.
    ///   - credit: how many batches are worked on at once.
    ///   - limit: the most events of a batch; nil is as many as the dispatcher sends.
    /// - Throws: a ``ClientError`` when the daemon refuses, or does not come back in the time of the options;
    ///   `CancellationError` when the task was cancelled.
    public func work(for dispatcher: String, credit: Int = 1, limit: Int? = nil, _ work: @escaping Work) async throws {
        let (tickets, tell) = AsyncThrowingStream<WorkTicket, any Error>.makeStream()
        connection.subscribe(to: dispatcher, credit: credit, limit: limit) { news in
            switch news {
            case .began, .interrupted: return
            case .batch(let batch, let request):
                guard case .terminated = tell.yield(WorkTicket(batch: batch, request: request)) else { return }
                request.giveBack("the worker is ending")
            case .ended(let error): tell.finish(throwing: error)
            }
        }
        defer { connection.unsubscribe(from: dispatcher) }
        try await withThrowingDiscardingTaskGroup { group in
            for try await ticket in tickets {
                group.addTask { await self.settle(ticket, await ticket.outcome(of: work)) }
            }
        }
        try Task.checkCancellation()
    }

    private func settle(_ ticket: WorkTicket, _ outcome: Result<[String: DeliveredEventOutcome], any Error>) {
        switch outcome {
        case .success(let outcomes): ticket.request.settle(outcomes)
        case .failure(let error): ticket.request.giveBack("\(error)")
        }
    }
}

/// A batch and the request that is to be answered for it.
// Unchecked: the request is touched on the client's actor only.
private struct WorkTicket: @unchecked Sendable {
    let batch: DeliveredBatch
    let request: DaemonRequest

    func outcome(of work: HeadgateClient.Work) async -> Result<[String: DeliveredEventOutcome], any Error> {
        do { return .success(try await work(batch)) } catch { return .failure(error) }
    }
}
