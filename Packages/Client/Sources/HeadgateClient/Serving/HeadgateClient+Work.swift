import HeadgateWire

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
    ///   - onNews: told when the daemon knows of it and when the connection is gone, in order; not to be held up.
    ///   - work: what is made of each batch.
    /// - Throws: a ``ClientError`` when the daemon refuses, does not come back in the time of the options, or the client
    ///   works for the dispatcher already; `CancellationError` when the task was cancelled.
    public func work(
        for dispatcher: String, credit: Int = 1, limit: Int? = nil,
        onNews: @escaping @Sendable (ServingNews) -> Void = { _ in }, _ work: @escaping Work
    ) async throws {
        guard connection.subscriptions[dispatcher]?.isEnding ?? true else {
            throw ClientError.refused(RPCError(.conflict, "this client works for \(dispatcher) already"))
        }
        let queue = ServingQueue<DeliveredBatch>()
        connection.subscribe(to: dispatcher, credit: credit, limit: limit) { news in
            switch news {
            case .began: onNews(.began)
            case .interrupted(let error): onNews(.interrupted(error))
            case .batch(let batch, let request): queue.put(batch, request)
            case .ended(let error): queue.finish(error)
            }
        }
        defer { connection.unsubscribe(from: dispatcher) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            var free = credit
            for try await ticket in queue.tickets {
                // The daemon keeps to the credit, but knows nothing of what is still done for a lost connection.
                if free > 0 { free -= 1 } else { try await group.next() }
                group.addTask {
                    do { await self.settle(ticket, try await work(ticket.job)) } catch {
                        await self.giveBack(ticket, error)
                    }
                }
            }
        }
        try Task.checkCancellation()
    }

    private func settle(
        _ ticket: ServingQueue<DeliveredBatch>.Ticket, _ outcomes: [String: DeliveredEventOutcome]
    ) {
        ticket.request.settle(outcomes)
    }

    private func giveBack(_ ticket: ServingQueue<DeliveredBatch>.Ticket, _ error: any Error) {
        ticket.request.giveBack("\(error)")
    }
}
