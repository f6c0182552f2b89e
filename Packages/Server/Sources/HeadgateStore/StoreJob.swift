import HeadgateCore

/// A job for the store's engine, with the way its answer takes back to the scheduler.
///
/// `@unchecked`: what answers is called on the scheduler alone, where it comes from.
enum StoreJob: @unchecked Sendable {
    /// Keeps a group of events.
    case append(AppendGroup, then: (StoreFault?) -> Void = { _ in })
    /// Makes changes, all or none.
    case write([StoreChange], then: (StoreFault?) -> Void = { _ in })
    /// Reads or deletes something else. The work returns what answers with its result.
    case ask(isAboutLetters: Bool, (LogEngine) -> () -> Void)
    /// The last job. It is answered when the data directory is free.
    case close(then: () -> Void = {})

    /// A job that reads or deletes something.
    /// - Parameter isAboutLetters: true if the job means the dead letters of its moment, so that later changes have to wait for it.
    static func ask<Value>(
        isAboutLetters: Bool = false, _ work: @escaping (LogEngine) -> Result<Value, StoreFault>,
        then: @escaping (Result<Value, StoreFault>) -> Void
    ) -> StoreJob {
        .ask(isAboutLetters: isAboutLetters) { engine in
            let result = work(engine)
            return { then(result) }
        }
    }

    /// A Boolean value that says whether the job is an append or a write: these are committed together.
    var isChange: Bool {
        switch self {
        case .append, .write: true
        case .ask, .close: false
        }
    }
}

/// What the engine reports to the scheduler: answers to jobs, in the jobs' order, and what has changed before them.
///
/// `@unchecked`: as ``StoreJob``.
struct StoreNews: @unchecked Sendable {
    var answers: [() -> Void] = []
    /// The dead letters that the store keeps from now on; nil if that has not changed.
    var letters: Tally?
    /// Bytes of the store's files; nil if that has not changed.
    var diskBytes: Int?
    /// The retained events; nil if that has not changed.
    var retained: RetainedEvents?
    /// The number of events that were found damaged and put aside (Behaviour Q8).
    var quarantined = 0
    /// The number of events that were lost, at most, with files that were taken away; nil if the store needed no new ones.
    var lost: Int?
    /// Dead letters that had to make room for newer ones, by dispatcher (Behaviour D10).
    var droppedLetters: [DispatcherNumber: Int] = [:]

    var isEmpty: Bool {
        answers.isEmpty && letters == nil && diskBytes == nil && retained == nil && quarantined == 0 && lost == nil
            && droppedLetters.isEmpty
    }
}

/// The place where the jobs of an event store are carried out, in order: by threads beside the scheduler's, so that a disk that takes its
/// time holds up nobody, or wherever a simulation says.
///
/// Called on the scheduler.
protocol StoreDesk: AnyObject {
    func put(_ job: StoreJob)
    /// Returns what was reported since this was last called.
    func takeNews() -> [StoreNews]
}

/// Opens a store, and waits for that.
/// - Parameter ring: tells the scheduler, from any thread, that there is news to take; called once for many.
typealias StoreOpening =
    (_ ring: @escaping @Sendable () -> Void) throws(StoreFault) -> (desk: any StoreDesk, state: StoredState)
