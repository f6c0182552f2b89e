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
