/// The data of a settled event that are needed for counting.
struct SettledEvent {
    let sequenceNumber: SequenceNumber
    let route: RouteNumber
    let tally: Tally
    /// The time of receipt on the age scale, in milliseconds.
    let receivedStamp: Int64
    /// The number of times that the event was sent.
    let sends: UInt32
    /// True if a rewind had made the event pending again (Behaviour R2).
    var isReplayed = false
}

extension SettledEvent {
    init(_ event: StoredEvent, sends: UInt32, isReplayed: Bool = false) {
        self.init(
            sequenceNumber: event.sequenceNumber, route: event.route, tally: event.tally,
            receivedStamp: event.receivedStamp, sends: sends, isReplayed: isReplayed)
    }
}
