import HeadgateCore

/// A job for the store's engine, with the closure that answers it.
///
/// `@unchecked`: the closure is called on the scheduler alone, where it comes from.
enum StoreJob: @unchecked Sendable {
    /// Appends a group of events.
    case append(AppendGroup, then: (StoreFault?) -> Void = { _ in })
    /// Makes changes, all or none.
    case write([StoreChange], then: (StoreFault?) -> Void = { _ in })
    /// Reads or deletes something else. The work returns the closure that answers with its result.
    case ask(isAboutDeadLetters: Bool, (LogEngine) -> () -> Void)
    /// The last job. It is answered when the data directory is free.
    case close(then: () -> Void = {})

    /// A job that reads or deletes something.
    /// - Parameter isAboutDeadLetters: true if the job must not see the dead letters of later changes, which then wait
    ///   for it.
    static func ask<Value>(
        isAboutDeadLetters: Bool = false, _ work: @escaping (LogEngine) -> Result<Value, StoreFault>,
        then: @escaping (Result<Value, StoreFault>) -> Void
    ) -> StoreJob {
        .ask(isAboutDeadLetters: isAboutDeadLetters) { engine in
            let result = work(engine)
            return { then(result) }
        }
    }

    /// True if the job is an append or a write. These are committed together.
    var isChange: Bool {
        switch self {
        case .append, .write: true
        case .ask, .close: false
        }
    }
}

/// News of the engine for the scheduler: answers to jobs, in the jobs' order, and the changes before them.
///
/// `@unchecked`: as ``StoreJob``.
struct StoreNews: @unchecked Sendable {
    var answers: [() -> Void] = []
    /// The sizes of the store; nil if they have not changed.
    var sizes: StoreSizes?
    /// The keys of the files; nil if they have not changed.
    var encryption: StoreEncryption?
    var losses = LogLosses()

    var isEmpty: Bool { answers.isEmpty && sizes == nil && encryption == nil && losses == LogLosses() }
}

/// The sizes of a store that the scheduler knows.
struct StoreSizes: Equatable {
    /// The number of dead letters, and the bytes of their events (Behaviour D10).
    var deadLetterTally = Tally.zero
    /// The bytes of the store's files.
    var diskBytes = 0
    var retained = RetainedEvents.none
}

/// The executor of a store's jobs, in their order: threads beside the scheduler's, so that a slow disk delays only its
/// own clients, or a simulation.
///
/// It is called on the scheduler.
protocol StoreExecutor: AnyObject {
    func put(_ job: StoreJob)
    /// Returns the news since the last call.
    func takeNews() -> [StoreNews]
}

/// Opens a store, and waits for that.
/// - Parameter ring: tells the scheduler, from any thread, that there is news to take. One call may stand for many.
typealias StoreOpening =
    (_ ring: @escaping @Sendable () -> Void) throws(StoreFault) -> (executor: any StoreExecutor, state: StoredState)
