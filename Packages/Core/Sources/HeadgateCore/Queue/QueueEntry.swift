import HeadgateData

/// An event that a dispatcher has in hand: taken from its queue and not settled yet.
struct QueueEntry {
    let event: StoredEvent
    /// Whether it is in a batch on its way.
    var isInFlight = false
    /// Attempts that were charged (Behaviour D9).
    var attempts = 0
    /// Whether a 401 was all that came of it when it went last, so that a second one is judged (Behaviour A9).
    var wasUnauthorized = false
    /// Its first failure since the start, as the wall clock stood.
    var firstFailure: Timestamp?
    /// How long it has been tried, by the dispatcher's clock of answers, when its first attempt was charged; nil before
    /// (Behaviour D9).
    var firstCharge: Duration?

    var sequenceNumber: SequenceNumber { event.sequenceNumber }
    var tally: Tally { event.tally }
}
