import HeadgateCore
import HeadgateTransport

/// The desk of a store on the machine's disk: a thread beside the scheduler's carries out what is asked for, and where the scheduler
/// is an event loop and the disk answers quickly, the loop's own thread does it between two turns.
final class ThreadedStoreDesk: StoreDesk {
    private let options: DiskEventStore.Options
    private let loop: EventLoop?
    @exclusivity(unchecked) private var workers: StoreWorkers?
    /// Takes outcomes that are there at the end of a turn of the loop. Set before the desk is opened.
    var onOutcomes: () -> Void = {}

    /// - Parameter loop: which is the scheduler; nil where something else is.
    init(options: DiskEventStore.Options, loop: EventLoop? = nil) {
        self.options = options
        self.loop = loop
    }

    deinit {
        workers?.put(.close)
    }

    func open(ring: @escaping @Sendable () -> Void) throws(StoreFault) -> StoredState {
        let workers = StoreWorkers(options: options, loop: loop, ring: ring)
        let content = try workers.start()
        workers.onOutcomes = onOutcomes
        self.workers = workers
        return content
    }

    func put(_ job: StoreJob) {
        workers?.put(job)
    }

    func takeOutcomes() -> [StoreOutcome] {
        let outcomes = workers?.takeOutcomes() ?? []
        if case .closed? = outcomes.last { workers = nil }
        return outcomes
    }
}
