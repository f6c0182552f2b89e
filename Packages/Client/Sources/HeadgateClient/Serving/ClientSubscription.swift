/// A subscription of this client.
struct ClientSubscription {
    /// The persistent call of the subscription.
    let call: ClientCall
    /// Reports news of the subscription to the program.
    let notify: (SubscriptionNews) -> Void
    /// True once the program unsubscribed. Batches that still arrive are passed to the program.
    var isEnding = false
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
