import HeadgateCore

/// What a store begins with that is made for what another held: all but its events and its dead letters (Behaviour Q1).
struct Founding {
    var dispatchers: [StoredDispatcher] = []
    var routes: [RouteNumber: [DispatcherNumber]] = [:]
    var kept: [String: [UInt8]] = [:]
    var recentIDs: [RecentIDs] = []
    /// The store counts on from here.
    var lastSequenceNumber: SequenceNumber = 0
    var newestStamp: Int64?
    /// The highest number that a dead letter ever had.
    var newestLetter: LetterNumber = 0
}

extension StoreOptions {
    /// Microseconds since 1970: a number that no damaged store has come to. Were the same numbers given again to
    /// other events, a destination might take them for those that it has (Behaviour K1, `Idempotency-Key`).
    var numberAhead: SequenceNumber {
        max(0, SequenceNumber(wall().milliseconds) * 1_000)
    }
}
