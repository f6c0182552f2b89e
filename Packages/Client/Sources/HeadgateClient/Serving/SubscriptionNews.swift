/// What a subscription to a dispatcher tells (Protocol, `dispatcher.subscribe`; Behaviour K3).
public enum SubscriptionNews {
    /// The daemon knows of it, for the first time or again.
    case began
    /// There is something to do; the request wants its answer: `settle`, or `giveBack`.
    case batch(DeliveredBatch, DaemonRequest)
    /// The connection is gone, for this reason, and with it the batches that were not answered: others get them, or they
    /// come again. The next connection is looked for, on which the subscription begins again.
    case interrupted(ClientError)
    /// Nothing more comes: the daemon refused, did not come back in time, or the connection was closed. After
    /// `unsubscribe` it is a `CancellationError`.
    case ended(any Error)
}
