/// The queues as barriers see them.
public protocol QueueObserving: AnyObject {
    /// How much waits for a dispatcher, over time.
    func onDepth(for dispatcherId: String) -> Observable<QueueDepth>
    /// How many dispatches were taken for a dispatcher, each time that a batch is. There is no present value.
    func onTaken(for dispatcherId: String) -> Observable<Int>
}

extension QueueObserving {
    /// Nothing: for queues that do not tell.
    public func onTaken(for dispatcherId: String) -> Observable<Int> { Observables.never() }
}

/// How much waits for a dispatcher.
public struct QueueDepth: Equatable, Sendable {
    /// Dispatches queued and not in flight.
    public var pending: Int
    /// When the oldest of them was received; nil while that is not known, or nothing waits.
    public var oldestSince: Instant?
    /// The most dispatches that the dispatcher takes at once.
    public var dispatchLimit: Int

    public init(pending: Int, oldestSince: Instant?, dispatchLimit: Int) {
        self.pending = pending
        self.oldestSince = oldestSince
        self.dispatchLimit = dispatchLimit
    }
}
