/// What barriers may know of every dispatcher's queue: how much waits, and what is taken.
final class QueueDepths: QueueObserving {
    private var depths: [String: StateSubject<QueueDepth>] = [:]
    private var takings: [String: PulseSubject<Int>] = [:]

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
