import HeadgateData

/// An event that a dispatcher has in hand: taken from its queue and not settled yet.
struct QueueEntry {
    let event: StoredEvent
    var progress = Progress()

    var sequenceNumber: SequenceNumber { event.sequenceNumber }
    var tally: Tally { event.tally }
}

/// How far an event in hand has come.
struct Progress {
    /// Whether it is in a batch on its way.
    var isInFlight = false
    /// Whether a 401 was all that came of it when it went last, so that a second one is judged (Behaviour A9).
    var wasUnauthorized = false
    /// How often it was sent.
    var sends: UInt32 = 0
    /// Attempts that were charged (Behaviour D9).
    var attempts = 0
    /// Its first failure since the start, as the wall clock stood.
    var firstFailure: Timestamp?
    /// How long it has been tried, by the dispatcher's clock of answers, when its first attempt was charged; nil before
    /// (Behaviour D9).
    var firstCharge: Duration?
    /// How many workers in a row were lost that had the event (Behaviour K3).
    var losses: UInt32 = 0
    /// The most events that a batch with this one may have; nil: as many as any. See ``lost(inBatchOf:)``.
    var mostInBatch: UInt32?
}

extension Progress {
    /// Returns why the event is given up after an attempt that was charged; nil while it is to be sent again (Behaviour D9).
    /// - Parameter heard: the dispatcher's clock of answers.
    func exhaustion(_ settings: DispatcherSettings, heard: Duration) -> DeadLetter.Reason? {
        if attempts >= settings.maxAttempts { return .maxAttempts }
        guard let firstCharge, heard - firstCharge >= settings.maxRetryAge else { return nil }
        return .maxRetryAge
    }

    /// With so many losses in a row the batch is halved.
    private static let lossesBeforeHalves: UInt32 = 3

    /// Notes that a worker was lost that had the event in a batch of so many. From the third loss in a row on, the event goes
    /// in batches of half the size, so that an event that kills its workers is found alone (Behaviour K3).
    mutating func lost(inBatchOf count: Int) {
        losses += 1
        if losses >= Progress.lossesBeforeHalves { mostInBatch = UInt32(clamping: (count + 1) / 2) }
    }

    /// Notes that something else came of the event than a lost worker.
    mutating func heard() {
        losses = 0
        mostInBatch = nil
    }
}

/// What is counted of an event that a dispatcher has done with.
struct SettledEvent {
    let sequenceNumber: SequenceNumber
    let route: RouteNumber
    let tally: Tally
    /// Its receipt, on the age scale, in milliseconds.
    let receivedStamp: Int64
    /// How often it was sent.
    let sends: UInt32
}

extension SettledEvent {
    init(_ event: StoredEvent, sends: UInt32) {
        self.init(
            sequenceNumber: event.sequenceNumber, route: event.route, tally: event.tally,
            receivedStamp: event.receivedStamp, sends: sends)
    }
}
