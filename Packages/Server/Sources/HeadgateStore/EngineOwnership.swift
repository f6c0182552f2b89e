/// The owner of a store's engine, and the jobs that wait for the engine (invariant 12 of `Docs/Store.md`).
///
/// Two threads use the engine, one at a time: the store's thread, and the event loop's thread between two turns. Each of
/// them reports facts by calling a method, and carries out the order that the method returns. The machine itself neither
/// waits nor calls anything. Its user protects it with one lock, which also orders the accesses to the engine.
///
/// The store's thread may take the loop over while the loop's thread is busy with the engine. The two threads then
/// exchange their roles: the loop's *former* thread keeps the engine until it reports ``rolesExchanged(undone:)``, and is
/// the store's thread from then on.
///
/// A fact in a state that does not list it would mean that two threads use the engine. The process stops then, because
/// the log could be damaged otherwise.
struct EngineOwnership<Job> {
    /// The owner, with the facts that are legal in each state besides ``requested(_:)`` and ``turnEnded(_:isForLoop:)``.
    enum Owner {
        /// The engine has nothing to do. Waiting jobs are left to the loop.
        ///
        /// ``checked()``: the store's thread stays at rest.
        case noThread
        /// The loop's thread uses the engine between two turns, or its former thread does after a takeover.
        ///
        /// ``loopEnded(undone:hasBackgroundWork:)``, or ``rolesExchanged(undone:)`` after a takeover; ``checked()``: the store's
        /// thread stays at rest.
        case loop
        /// The store's thread uses the engine, or has been woken to do so.
        ///
        /// ``checked()`` if it has been woken; ``storeThreadEnded(hasBackgroundWork:isForLoop:)`` and ``closed()`` if it is at
        /// work.
        case storeThread
        /// The store is closed. The engine is gone, and further jobs are dropped: the store refuses them before.
        case closed
    }

    /// The orders to the loop's thread, or to a thread that requests a job.
    struct LoopOrders: Hashable {
        /// Carry out the jobs, then report ``EngineOwnership/loopEnded(undone:hasBackgroundWork:)``.
        var carriesOut = false
        /// Wake the store's thread.
        var wakesStoreThread = false
    }

    /// The order to the store's thread.
    enum StoreThreadOrder {
        /// Carry out the jobs, which may be none, and background work. Then report
        /// ``EngineOwnership/storeThreadEnded(hasBackgroundWork:isForLoop:)`` or ``EngineOwnership/closed()``.
        case carryOut([Job])
        /// Call the loop, which has to carry out the waiting jobs. Then report ``EngineOwnership/checked()``.
        case callLoop
        /// Wait until woken, then report ``EngineOwnership/checked()``.
        case sleep
        /// Wait until woken, for one interval at most. Then take the loop over if its thread does not return from the
        /// engine, or report ``EngineOwnership/checked()``.
        case watch
    }

    private(set) var owner = Owner.storeThread
    /// The waiting jobs, in the order of their requests.
    private(set) var waiting: [Job] = []
    /// The number of intervals for which the store's thread has watched a loop that did not use the engine; nil if it does not
    /// watch, or does not continue to do so after its work.
    private var idleIntervals: Int?
    /// True if the loop's thread has had the engine since the last ``checked()``.
    private var hasLoopWorked = false
    /// The number of intervals without work of the loop's thread after which the store's thread stops watching.
    private let mostIdleIntervals: Int

    init(mostIdleIntervals: Int) {
        self.mostIdleIntervals = mostIdleIntervals
    }

    /// True if the store's thread has left jobs to the loop.
    var hasJobsForLoop: Bool { owner == .noThread && !waiting.isEmpty }

    // MARK: Facts of the loop, and of other threads

    /// Handles the request of jobs that the store's thread has to carry out.
    /// - Parameter jobs: empty afterwards.
    mutating func requested(_ jobs: inout [Job]) -> LoopOrders {
        enqueue(&jobs)
        return owner == .noThread ? giveToStoreThread() : LoopOrders()
    }

    /// Handles the end of the loop's turn.
    /// - Parameters:
    ///   - jobs: the jobs that were requested in the turn. Afterwards the jobs to carry out: with those that were left to
    ///     the loop earlier, or none.
    ///   - isForLoop: returns true if the loop's thread should carry out the jobs. It is called only while no thread
    ///     has the engine, and may use what belongs to the engine's owner.
    mutating func turnEnded(_ jobs: inout [Job], isForLoop: ([Job]) -> Bool) -> LoopOrders {
        guard owner == .noThread else {
            enqueue(&jobs)
            return LoopOrders()
        }
        if !waiting.isEmpty {
            jobs.insert(contentsOf: waiting, at: 0)
            waiting = []
        }
        guard !jobs.isEmpty else { return LoopOrders() }
        guard isForLoop(jobs) else {
            enqueue(&jobs)
            return giveToStoreThread()
        }
        (owner, hasLoopWorked) = (.loop, true)
        guard idleIntervals == nil else { return LoopOrders(carriesOut: true) }
        idleIntervals = 0
        return LoopOrders(carriesOut: true, wakesStoreThread: true)
    }

    /// Handles the return of the loop's thread from the engine, if the loop was not taken over meanwhile.
    /// - Parameters:
    ///   - undone: the jobs that it could not carry out. Empty afterwards.
    ///   - hasBackgroundWork: true if the engine has work of its own, which the store's thread does.
    mutating func loopEnded(undone: inout [Job], hasBackgroundWork: Bool) -> LoopOrders {
        expect(.loop)
        putFirst(&undone)
        guard waiting.isEmpty, !hasBackgroundWork else { return giveToStoreThread() }
        owner = .noThread
        return LoopOrders()
    }

    /// Handles the return of the loop's former thread from the engine. It is the store's thread from now on.
    /// - Parameter undone: the jobs that it could not carry out. Empty afterwards.
    mutating func rolesExchanged(undone: inout [Job]) -> StoreThreadOrder {
        expect(.loop)
        putFirst(&undone)
        owner = .storeThread
        return takeJobs()
    }

    // MARK: Facts of the store's thread

    /// Notes that the store's thread has carried out its jobs.
    /// - Parameters:
    ///   - hasBackgroundWork: true if the engine has work of its own.
    ///   - isForLoop: returns true if the loop's thread should carry out the waiting jobs.
    mutating func storeThreadEnded(hasBackgroundWork: Bool, isForLoop: ([Job]) -> Bool) -> StoreThreadOrder {
        expect(.storeThread)
        guard !hasBackgroundWork, waiting.isEmpty || isForLoop(waiting) else { return takeJobs() }
        owner = .noThread
        return waiting.isEmpty ? restOrder : .callLoop
    }

    /// Returns the next order for the store's thread, which checks for work at its start and after each wait.
    mutating func checked() -> StoreThreadOrder {
        guard owner != .storeThread else { return takeJobs() }
        if let idle = idleIntervals {
            let isBusy = hasLoopWorked || owner == .loop
            idleIntervals = isBusy ? 0 : idle + 1 < mostIdleIntervals ? idle + 1 : nil
        }
        hasLoopWorked = false
        return restOrder
    }

    /// Notes that the store's thread has closed the store.
    mutating func closed() {
        expect(.storeThread)
        (owner, waiting) = (.closed, [])
    }

    // MARK: Steps

    private mutating func giveToStoreThread() -> LoopOrders {
        owner = .storeThread
        return LoopOrders(wakesStoreThread: true)
    }

    private mutating func takeJobs() -> StoreThreadOrder {
        defer { waiting = [] }
        return .carryOut(waiting)
    }

    private var restOrder: StoreThreadOrder { idleIntervals == nil ? .sleep : .watch }

    private mutating func enqueue(_ jobs: inout [Job]) {
        guard owner != .closed else { return jobs.removeAll() }
        if waiting.isEmpty { swap(&waiting, &jobs) } else { waiting += jobs }
        jobs.removeAll(keepingCapacity: true)
    }

    /// Puts jobs before the waiting ones, which were requested later.
    private mutating func putFirst(_ jobs: inout [Job]) {
        guard !jobs.isEmpty else { return }
        jobs += waiting
        waiting = []
        enqueue(&jobs)
    }

    private func expect(_ expected: Owner) {
        precondition(owner == expected, "two threads use the store's engine")
    }
}

extension EngineOwnership: Sendable where Job: Sendable {}
extension EngineOwnership.StoreThreadOrder: Equatable where Job: Equatable {}
extension EngineOwnership: Equatable where Job: Equatable {}
extension EngineOwnership: Hashable where Job: Hashable {}
