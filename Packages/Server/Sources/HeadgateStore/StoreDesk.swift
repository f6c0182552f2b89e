import HeadgateCore

/// Where the jobs of an event store are carried out, in order, and their outcomes wait to be taken: on a thread beside the
/// scheduler's, so that a disk that takes its time holds up nobody, or wherever a simulation says.
///
/// Called on the scheduler.
protocol StoreDesk: AnyObject {
    /// Opens the store, and waits for it.
    /// - Parameter ring: tells the scheduler, from any thread, that there are outcomes to take; called once for many.
    func open(ring: @escaping @Sendable () -> Void) throws(StoreFault) -> StoredState
    func put(_ job: StoreJob)
    /// What has been carried out since it was last asked. Behind `closed` there is nothing, and the desk may be opened again.
    func takeOutcomes() -> [StoreOutcome]
}

/// What the scheduler asks of a store's desk.
enum StoreJob: Sendable {
    case append(AppendGroup)
    case write([StoreChange])
    case read(after: SequenceNumber)
    case readLetters(LetterQuery)
    case purgeLetters(LetterQuery)
    case readAged(AgedStretch)
    case survey(EventSurvey)
    case close
}

/// What a store's desk tells the scheduler. But for `quarantined`, `renewed`, `lettersDropped`, `lettersKept` and `size`, there is one for each job, in the jobs' order.
enum StoreOutcome: Sendable {
    /// An append or a write is done, or not.
    case done(StoreFault?)
    case read(Result<Chunk?, StoreFault>)
    /// A survey has come a piece further.
    case surveyed(Result<EventSurvey, StoreFault>)
    case letters(Result<LetterPage, StoreFault>)
    /// So many dead letters are deleted, or none.
    case purged(Result<Int, StoreFault>)
    /// So many events were damaged and are put aside (Behaviour Q8).
    case quarantined(events: Int)
    /// The store's files were taken away, and it goes on with new ones. So many events are lost with the old ones, at most.
    case renewed(lost: Int)
    /// So many dead letters had to make room for newer ones, by dispatcher (Behaviour D10).
    case lettersDropped([DispatcherNumber: Int])
    /// The store keeps so many dead letters from now on; told before the outcome of the job that changed that.
    case lettersKept(Tally)
    /// The store's files take so many bytes.
    case size(bytes: Int)
    case closed
}
