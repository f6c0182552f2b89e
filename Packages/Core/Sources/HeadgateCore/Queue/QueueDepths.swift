/// The depth of every dispatcher's queue, for the barriers that look at it.
final class QueueDepths: QueueObserving {
    private var depths: [String: StateSubject<QueueDepth>] = [:]

    func onDepth(for dispatcherId: String) -> Observable<QueueDepth> {
        subject(dispatcherId).wrappedValue
    }

    /// Whether anyone looks at a dispatcher's depth, or did.
    func isWatched(_ dispatcherId: String) -> Bool { depths[dispatcherId] != nil }

    /// Tells a depth to those who look, if it changed.
    func publish(_ depth: QueueDepth, of dispatcherId: String) {
        guard let subject = depths[dispatcherId], subject.value != depth else { return }
        subject.value = depth
    }

    fileprivate func subject(_ dispatcherId: String) -> StateSubject<QueueDepth> {
        if let subject = depths[dispatcherId] { return subject }
        let subject = StateSubject(QueueDepth(pending: 0, oldestSince: nil, dispatchLimit: 1))
        depths[dispatcherId] = subject
        return subject
    }
}
