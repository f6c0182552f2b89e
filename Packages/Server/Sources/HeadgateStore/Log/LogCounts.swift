import HeadgateCore

/// Counts of a log's operations since it was opened.
struct LogCounts: Equatable {
    var begun = 0
    /// Segments that were dropped because nothing in them was needed.
    var forgotten = 0
    /// Segments that were replaced by a copy.
    var copied = 0
    /// Recoveries after a failed write or sync.
    var recovered = 0
    /// Rewinds of dispatchers.
    var rewound = 0
    var erased = 0
}

/// The losses of a log that have not been reported to the scheduler yet.
struct LogLosses: Equatable {
    /// The number of events that were found damaged and put aside (Behaviour Q8).
    var quarantined = 0
    /// The most events that were lost with removed files; nil if the log was not recreated.
    var renewed: Int?
    /// The number of dead letters that had to make room for newer ones, by dispatcher (Behaviour D10).
    var droppedDeadLetters: [DispatcherNumber: Int] = [:]

    /// Returns the losses, and forgets them.
    mutating func take() -> LogLosses {
        defer { self = LogLosses() }
        return self
    }
}
