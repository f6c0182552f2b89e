/// The barriers before one dispatcher, as the dispatcher sees them, and the depth of its queue, as barriers see it.
struct BarrierView {
    let coordinator: BarrierCoordinator
    private let id: String
    private let flushes: Flushes
    private let depths: QueueDepths
    /// The last answer of the coordinator. An answer is read several times per turn and seldom changes.
    private var cached: CachedState?

    /// - Parameter id: the dispatcher's id.
    init(of id: String, _ coordinator: BarrierCoordinator, _ flushes: Flushes, _ depths: QueueDepths) {
        (self.id, self.coordinator, self.flushes, self.depths) = (id, coordinator, flushes, depths)
    }

    /// A cached answer of the coordinator about this dispatcher's barriers.
    private final class CachedState {
        /// The version of the coordinator's state.
        let version: Int
        let isOpen: Bool
        let isOpenForFlushes: Bool
        /// The reasons for which dispatches are held, without and during a flush.
        let words: [String]
        let wordsForFlushes: [String]

        init(to id: String, _ coordinator: BarrierCoordinator) {
            let barriers = coordinator.barriers(before: id)
            version = coordinator.version
            (isOpen, isOpenForFlushes) = (barriers.isOpen(flushing: false), barriers.isOpen(flushing: true))
            words = coordinator.blockers(of: id, flushing: false).map(\.word)
            wordsForFlushes = coordinator.blockers(of: id, flushing: true).map(\.word)
        }
    }

    // MARK: State

    /// True if no barrier blocks the dispatcher.
    var isOpen: Bool { mutating get { state.isOpen } }

    /// True if a flush covers events of the dispatcher.
    var isFlushing: Bool { flushes.target(for: id) != nil }

    /// The last event that may be sent now; nil if the dispatcher is blocked. A flush allows the events that it covers
    /// (Behaviour F1).
    var openThrough: SequenceNumber? {
        mutating get {
            let seen = state
            if seen.isOpen { return .max }
            guard let target = flushes.target(for: id), seen.isOpenForFlushes else { return nil }
            return target
        }
    }

    /// The reasons for which events are held now (Behaviour D13).
    var blockingWords: [String] { mutating get { isFlushing ? state.wordsForFlushes : state.words } }

    private var state: CachedState {
        mutating get {
            if let cached, cached.version == coordinator.version { return cached }
            let new = CachedState(to: id, coordinator)
            cached = new
            return new
        }
    }

    // MARK: Depth

    /// True if a barrier observes the depth of the queue.
    var isDepthWatched: Bool { depths.isWatched(id) }

    func publish(_ depth: QueueDepth) { depths.publish(depth, of: id) }

    /// Publishes that a batch of `count` events was taken.
    func publishTaken(_ count: Int) { depths.publishTaken(count, of: id) }
}
