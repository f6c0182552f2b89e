/// A publisher of each dispatcher's queue depth and batches to barriers.
final class QueueDepths: QueueObserving {
    @exclusivity(unchecked) private var depths: [String: StateSubject<QueueDepth>] = [:]
    @exclusivity(unchecked) private var takings: [String: PulseSubject<Int>] = [:]

    func onDepth(for dispatcherId: String) -> Observable<QueueDepth> {
        subject(dispatcherId).wrappedValue
    }

    func onTaken(for dispatcherId: String) -> Observable<Int> {
        let subject = takings[dispatcherId] ?? PulseSubject()
        takings[dispatcherId] = subject
        return subject.observable
    }

    /// Returns true if a barrier observes a dispatcher's depth, or once did.
    func isWatched(_ dispatcherId: String) -> Bool { depths[dispatcherId] != nil }

    /// Publishes a dispatcher's depth if it has changed.
    func publish(_ depth: QueueDepth, of dispatcherId: String) {
        guard let subject = depths[dispatcherId], subject.value != depth else { return }
        subject.value = depth
    }

    /// Publishes that a batch of `count` dispatches was taken.
    func publishTaken(_ count: Int, of dispatcherId: String) {
        takings[dispatcherId]?.send(count)
    }

    private func subject(_ dispatcherId: String) -> StateSubject<QueueDepth> {
        if let subject = depths[dispatcherId] { return subject }
        let subject = StateSubject(QueueDepth(pending: 0, oldestSince: nil, dispatchLimit: 1))
        depths[dispatcherId] = subject
        return subject
    }
}

/// The view of the queues that barriers get.
public protocol QueueObserving: AnyObject {
    /// Returns the depth of a dispatcher's queue as it changes.
    func onDepth(for dispatcherId: String) -> Observable<QueueDepth>
    /// Returns the size of each batch that a dispatcher takes, in dispatches. The observable has no current value.
    func onTaken(for dispatcherId: String) -> Observable<Int>
}

extension QueueObserving {
    /// The default for queues that do not report batches.
    public func onTaken(for dispatcherId: String) -> Observable<Int> { Observables.never() }
}

/// The depth of a dispatcher's queue.
public struct QueueDepth: Equatable, Sendable {
    /// The number of pending dispatches: queued and not in flight.
    public var pending: Int
    /// The time of receipt of the oldest pending dispatch; nil if it is unknown or if none is pending.
    public var oldestSince: Instant?
    /// The most dispatches in a batch of the dispatcher.
    public var dispatchLimit: Int

    public init(pending: Int, oldestSince: Instant?, dispatchLimit: Int) {
        self.pending = pending
        self.oldestSince = oldestSince
        self.dispatchLimit = dispatchLimit
    }
}
