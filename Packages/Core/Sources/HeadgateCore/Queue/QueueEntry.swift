import HeadgateData

/// A buffered event of a dispatcher, with its progress.
struct QueueEntry {
    let event: StoredEvent
    var progress = Progress()

    var sequenceNumber: SequenceNumber { event.sequenceNumber }
    var tally: Tally { event.tally }
}

/// The delivery progress of a buffered event.
struct Progress {
    /// True if the event is in flight.
    var isInFlight = false
    /// True if the last attempt was answered with 401. A second 401 is treated as a refusal (Behaviour A9).
    var wasUnauthorized = false
    /// The number of times that the event was sent.
    var sends: UInt32 = 0
    /// True if a rewind made the event pending again (Behaviour R2).
    var isReplayed = false
    /// The number of charged attempts (Behaviour D9).
    var attempts = 0
    /// The wall-clock time of the first failure since the start.
    var firstFailure: Timestamp?
    /// The reading of the dispatcher's clock of answers when the first attempt was charged; nil before that (Behaviour
    /// D9).
    var firstCharge: Duration?
    /// The number of consecutive workers that were lost while they had the event (Behaviour K3).
    var losses: UInt32 = 0
    /// The most events in a batch with this one; nil for no limit. See ``lost(inBatchOf:)``.
    var mostInBatch: UInt32?
}

extension Progress {
    /// Returns the reason for dead-lettering the event after a charged attempt, or nil if it is to be sent again
    /// (Behaviour D9).
    /// - Parameter answered: the reading of the dispatcher's clock of answers.
    func exhaustion(_ settings: DispatcherSettings, answered: Duration) -> DeadLetter.Reason? {
        if attempts >= settings.maxAttempts { return .maxAttempts }
        guard let firstCharge, answered - firstCharge >= settings.maxRetryAge else { return nil }
        return .maxRetryAge
    }

    /// The number of consecutive losses from which batches are halved.
    private static let lossesBeforeHalves: UInt32 = 3

    /// Records that a worker was lost while it had the event in a batch of `count` events. From the third consecutive
    /// loss on the event is sent in batches of half the size, so that an event that crashes workers is isolated
    /// (Behaviour K3).
    mutating func lost(inBatchOf count: Int) {
        losses += 1
        if losses >= Progress.lossesBeforeHalves { mostInBatch = UInt32(clamping: (count + 1) / 2) }
    }

    /// Records an outcome other than a lost worker.
    mutating func answered() {
        losses = 0
        mostInBatch = nil
    }
}
