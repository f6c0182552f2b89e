import HeadgateData
import HeadgateWire

extension ClientConnection {
    /// Works for a dispatcher of kind `worker` until ``unsubscribe(from:then:)``, also on later connections. Replaces
    /// an earlier subscription to the same dispatcher.
    /// - Parameters:
    ///   - dispatcher: the dispatcher's id.
    ///   - credit: the number of batches that it takes at once.
    ///   - limit: the greatest number of events in a batch; nil is the dispatcher's own limit.
    ///   - notify: called on the loop, in order; `ended` comes once and last.
    public func subscribe(
        to dispatcher: String, credit: Int = 1, limit: Int? = nil, _ notify: @escaping (SubscriptionNews) -> Void
    ) {
        if let former = subscriptions[dispatcher] { cancel(former.call) }
        serve("dispatch") { [weak self] params, request in self?.takeBatch(params, request) }
        var params: DataObject = ["id": .string(dispatcher), "credit": .number(DataNumber(credit))]
        params["limit"] = limit.map { .number(DataNumber($0)) }
        let call = reserve()
        subscriptions[dispatcher] = ClientSubscription(call: call, notify: notify)
        stand(call, "dispatcher.subscribe", params, as: "the subscription to \(dispatcher)") { [weak self] in
            self?.subscription(dispatcher, call, $0, notify)
        }
    }

    /// Ends a subscription. The program must still answer the batches that it has received, and those that still
    /// arrive.
    /// - Parameters:
    ///   - dispatcher: the dispatcher's id.
    ///   - then: called when no more batches come and all are answered, or the connection is lost.
    public func unsubscribe(from dispatcher: String, then: @escaping () -> Void = {}) {
        guard let subscription = subscriptions[dispatcher] else { return then() }
        guard isConnected else {
            cancel(subscription.call)
            return then()
        }
        subscriptions[dispatcher]?.isEnding = true
        call("dispatcher.unsubscribe", ["id": .string(dispatcher)]) { [weak self] _ in
            if self?.subscriptions[dispatcher]?.call == subscription.call { self?.subscriptions[dispatcher] = nil }
            subscription.notify(.ended(CancellationError()))
            then()
        }
        // The call above is made first: the client closes a connection without calls.
        cancel(subscription.call)
    }

    private func subscription(
        _ dispatcher: String, _ call: Call, _ news: PersistentCallNews, _ notify: (SubscriptionNews) -> Void
    ) {
        switch news {
        case .granted: notify(.began)
        case .interrupted(let error): notify(.interrupted(error))
        case .ended(let error):
            if subscriptions[dispatcher]?.call == call {
                // A subscription that is being ended reports its end when the daemon has answered.
                guard subscriptions[dispatcher]?.isEnding == false else { return }
                subscriptions[dispatcher] = nil
            }
            notify(.ended(error))
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
        subscription.notify(.batch(batch, request))
    }
}
