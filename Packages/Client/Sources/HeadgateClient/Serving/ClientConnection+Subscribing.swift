import HeadgateData
import HeadgateWire

extension ClientConnection {
    /// Works for a dispatcher of kind `worker` until ``unsubscribe(from:then:)``. When the connection is lost it is made
    /// again, and the subscription with it. One that is there already is replaced.
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
        stand(call, "dispatcher.subscribe", params) { [weak self] in self?.subscription(dispatcher, call, $0, tell) }
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
        // After the call: without any, the connection would be let go.
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
                // Then its end is told when the daemon has let it go.
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
    let call: ClientConnection.Call
    /// Whom to tell.
    let tell: (SubscriptionNews) -> Void
    /// Whether it was ended, and what is on its way is still taken.
    var isEnding = false
}
