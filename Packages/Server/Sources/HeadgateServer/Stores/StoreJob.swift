import HeadgateCore

/// What the worker asks of the store's thread.
enum StoreJob: Sendable {
    case append(AppendGroup)
    case write([StoreChange])
    case read(after: SequenceNumber)
    case readLetters(LetterQuery)
    case purgeLetters(LetterQuery)
    case readAged(AgedStretch)
    case close
}

/// What the store's thread tells the worker. But for `quarantined`, there is one for each job, in the jobs' order.
enum StoreOutcome: Sendable {
    /// An append or a write is done, or not.
    case done(StoreFault?)
    case read(Result<Chunk?, StoreFault>)
    case letters(Result<LetterPage, StoreFault>)
    /// So many dead letters are deleted, or none.
    case purged(Result<Int, StoreFault>)
    /// So many events were damaged and are put aside (Behaviour Q8).
    case quarantined(events: Int)
    case closed
}
