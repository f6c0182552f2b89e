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
                guard isWanted(ticket) else {
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

    private func isWanted(_ ticket: ServingQueue<DeliveredBatch>.Ticket) -> Bool {
        guard !ticket.request.isWanted else { return true }
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

extension ClientConnection {
    /// Works for a dispatcher of kind `worker` until ``unsubscribe(from:then:)``, also on later connections. Replaces
    /// an earlier subscription to the same dispatcher.
    /// - Parameters:
    ///   - dispatcher: the dispatcher's id.
    ///   - credit: the number of batches that it takes at once.
    ///   - limit: the greatest number of events in a batch; nil is the dispatcher's own limit.
    ///   - tell: called on the loop, in order; `ended` comes once and last.
    public func subscribe(
        to dispatcher: String, credit: Int = 1, limit: Int? = nil, _ tell: @escaping (SubscriptionNews) -> Void
    ) {
        if let former = subscriptions[dispatcher] { abandon(former.call) }
        serve("dispatch") { [weak self] params, request in self?.takeBatch(params, request) }
        var params: DataObject = ["id": .string(dispatcher), "credit": .number(DataNumber(credit))]
        params["limit"] = limit.map { .number(DataNumber($0)) }
        let call = reserve()
        subscriptions[dispatcher] = ClientSubscription(call: call, tell: tell)
        stand(call, "dispatcher.subscribe", params, as: "the subscription to \(dispatcher)") { [weak self] in
            self?.subscription(dispatcher, call, $0, tell)
        }
    }

    /// Ends a subscription. Batches that are here, or still come, need their answers.
    /// - Parameters:
    ///   - dispatcher: the dispatcher's id.
    ///   - then: called when no more batches come and all are answered, or the connection is lost.
    public func unsubscribe(from dispatcher: String, then: @escaping () -> Void = {}) {
        guard let subscription = subscriptions[dispatcher] else { return then() }
        guard isConnected else {
            abandon(subscription.call)
            return then()
        }
        subscriptions[dispatcher]?.isEnding = true
        call("dispatcher.unsubscribe", ["id": .string(dispatcher)]) { [weak self] _ in
            if self?.subscriptions[dispatcher]?.call == subscription.call { self?.subscriptions[dispatcher] = nil }
            subscription.tell(.ended(CancellationError()))
            then()
        }
        // The call above comes first: without any call the connection would be closed.
        abandon(subscription.call)
    }

    private func subscription(
        _ dispatcher: String, _ call: Call, _ news: StandingNews, _ tell: (SubscriptionNews) -> Void
    ) {
        switch news {
        case .granted: tell(.began)
        case .interrupted(let error): tell(.interrupted(error))
        case .ended(let error):
            if subscriptions[dispatcher]?.call == call {
                // An ending subscription reports its end when the daemon has answered.
                guard subscriptions[dispatcher]?.isEnding == false else { return }
                subscriptions[dispatcher] = nil
            }
            tell(.ended(error))
        }
    }

    private func takeBatch(_ params: JSONView?, _ request: DaemonRequest) {
        guard let batch = params.flatMap(DeliveredBatch.init) else {
            let path = params?.member("dispatcher")?.string == nil ? "dispatcher" : ""
            return request.fail(.invalidParams(path: path, "must be a batch"))
        }
        guard let subscription = subscriptions[batch.dispatcher] else {
            return request.fail(RPCError(.notFound, "no subscription to \(batch.dispatcher)"))
        }
        subscription.tell(.batch(batch, request))
    }
}

/// A subscription of this client.
struct ClientSubscription {
    /// The persistent call of the subscription.
    fileprivate let call: ClientConnection.Call
    /// The caller.
    fileprivate let tell: (SubscriptionNews) -> Void
    /// True once it was ended. Batches that still come are taken.
    fileprivate(set) var isEnding = false
}

/// Reports about a subscription to a dispatcher (Protocol, `dispatcher.subscribe`; Behaviour K3).
public enum SubscriptionNews {
    /// The daemon has the subscription, for the first time or again.
    case began
    /// A batch to handle. Answer the request with `settle` or `giveBack`.
    case batch(DeliveredBatch, DaemonRequest)
    /// The connection is lost for this reason, and with it the batches without an answer, which the daemon gives to a
    /// worker again. The subscription begins again on the next connection.
    case interrupted(ClientError)
    /// No more batches come: the daemon refused the subscription, did not come back in time, or the connection was
    /// closed. A `CancellationError` after `unsubscribe`.
    case ended(any Error)
}
