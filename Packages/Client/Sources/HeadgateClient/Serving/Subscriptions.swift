import HeadgateData
import HeadgateWire

extension HeadgateClient {
    /// What a worker makes of a batch: outcomes by the events' ids. Events that it does not name are delivered.
    public typealias Work = @Sendable (DeliveredBatch) async throws -> [String: DeliveredEventOutcome]

    /// Works for a dispatcher of kind `worker` (Behaviour K3), until the task is cancelled.
    ///
    /// When the daemon restarts, it goes on. A batch that `work` throws for is given to a worker once more. When the
    /// task is cancelled, so are the calls of `work`; what they say then still counts, and the last batches may be
    /// answered for after this has returned.
    /// - Parameters:
    ///   - dispatcher: its id.
    ///   - credit: how many batches are worked on at once.
    ///   - limit: the most events of a batch; nil is as many as the dispatcher sends.
    ///   - onNews: told when the daemon knows of it and when the connection is gone, in order; not to be held up.
    ///   - work: what is made of each batch.
    /// - Throws: a ``ClientError`` when the daemon refuses, does not come back in the time of the options, or
    ///   the client works for the dispatcher already; `CancellationError` when the task was cancelled.
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
                // A batch of a connection that is gone comes again, to this worker or another.
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
    /// Works for a dispatcher of kind `worker` until ``unsubscribe(from:then:)``. When the connection is lost it is
    /// made again, and the subscription with it. One that is there already is replaced.
    /// - Parameters:
    ///   - dispatcher: its id.
    ///   - credit: how many batches it takes at once.
    ///   - limit: the most events of a batch; nil is as many as the dispatcher sends.
    ///   - tell: told on the loop, in order; `ended` comes once and last.
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

    /// Wants no more of a dispatcher. Batches that come yet, and those that are here, are still to be answered.
    /// - Parameters:
    ///   - dispatcher: its id.
    ///   - then: called once nothing more comes and all that was here is answered, or gone with the connection.
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
        // This comes after the call: without any call, the connection would be let go.
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
                // One that is ending tells its end when the daemon has let it go.
                guard subscriptions[dispatcher]?.isEnding == false else { return }
                subscriptions[dispatcher] = nil
            }
            tell(.ended(error))
        }
    }

    private func takeBatch(_ params: JSONView?, _ request: DaemonRequest) {
        guard let batch = params.flatMap(DeliveredBatch.init) else {
            let path = params?.member("dispatcher")?.string == nil ? "dispatcher" : ""
            return request.fail(.invalidParams(path: path, "not a batch of the protocol"))
        }
        guard let subscription = subscriptions[batch.dispatcher] else {
            return request.fail(RPCError(.notFound, "no subscription to \(batch.dispatcher)"))
        }
        subscription.tell(.batch(batch, request))
    }
}

/// A subscription of this side.
struct ClientSubscription {
    /// The call that stands for it.
    fileprivate let call: ClientConnection.Call
    /// The caller, who is told what happens.
    fileprivate let tell: (SubscriptionNews) -> Void
    /// Whether it was ended, and what is on its way is still taken.
    fileprivate(set) var isEnding = false
}

/// What a subscription to a dispatcher tells (Protocol, `dispatcher.subscribe`; Behaviour K3).
public enum SubscriptionNews {
    /// The daemon knows of it, for the first time or again.
    case began
    /// A batch is to be worked on; the request wants its answer: `settle`, or `giveBack`.
    case batch(DeliveredBatch, DaemonRequest)
    /// The connection is gone, for this reason, and with it the batches that were not answered: others get them, or
    /// they come again. The next connection is looked for, on which the subscription begins again.
    case interrupted(ClientError)
    /// Nothing more comes: the daemon refused, did not come back in time, or the connection was closed. After
    /// `unsubscribe` it is a `CancellationError`.
    case ended(any Error)
}
