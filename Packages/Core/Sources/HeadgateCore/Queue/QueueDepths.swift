/// What barriers may know of every dispatcher's queue: how much waits, and what is taken.
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

    /// Whether anyone looks at a dispatcher's depth, or did.
    func isWatched(_ dispatcherId: String) -> Bool { depths[dispatcherId] != nil }

    /// Tells a depth to those who look, if it changed.
    func publish(_ depth: QueueDepth, of dispatcherId: String) {
        guard let subject = depths[dispatcherId], subject.value != depth else { return }
        subject.value = depth
    }

    /// Tells those who look that a batch of so many dispatches was taken.
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
