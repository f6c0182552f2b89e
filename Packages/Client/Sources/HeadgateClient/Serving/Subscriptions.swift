import HeadgateData
import HeadgateWire

extension HeadgateClient {
    /// A function that handles a batch and returns outcomes by event id. Events without an outcome are delivered.
    public typealias Work = @Sendable (DeliveredBatch) async throws -> [String: DeliveredEventOutcome]

    /// Works for a dispatcher of kind `worker` (Behaviour K3), until the task is cancelled.
    ///
    /// The subscription begins again after a restart of the daemon. The daemon gives a batch for which `work` throws
    /// to a worker again. Cancelling the task cancels the calls of `work`, whose outcomes still count. The answers to
    /// the last batches may go out after this function has returned.
    /// - Parameters:
    ///   - dispatcher: the dispatcher's id.
    ///   - credit: the number of batches that are handled at once.
    ///   - limit: the greatest number of events in a batch; nil is the dispatcher's own limit.
    ///   - onNews: called in order when the daemon has the subscription and when the connection is lost. It must not
    ///     block.
    ///   - work: handles a batch.
    /// - Throws: ``ClientError`` if the daemon refuses the subscription or does not come back in the time of the
    ///   options, or if the client already works for the dispatcher; `CancellationError` if the task was cancelled.
    public func work(
        for dispatcher: String, credit: Int = 1, limit: Int? = nil,
        onNews: @escaping @Sendable (ServingNews) -> Void = { _ in }, _ work: @escaping Work
    ) async throws {
        guard connection.subscriptions[dispatcher]?.isEnding ?? true else {
            throw ClientError.refused(RPCError(.conflict, "this client already has a subscription to \(dispatcher)"))
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
                // The daemon keeps to the credit, but does not count the handlers for batches of a lost connection.
                if free > 0 { free -= 1 } else { try await group.next() }
                // The daemon gives a batch of a lost connection to a worker again.
                guard isAwaited(ticket) else {
                    free += 1
                    continue
                }
                group.addTask {
                    do { await self.settle(ticket, try await self.handle { try await work(ticket.job) }) } catch {
                        await self.giveBack(ticket, error)
                    }
                }
            }
        }
        try Task.checkCancellation()
    }

    private func isAwaited(_ ticket: ServingQueue<DeliveredBatch>.Ticket) -> Bool {
        guard !ticket.request.isAwaited else { return true }
        ticket.request.drop()
        return false
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
