/// What became of a dispatcher's events since the start.
struct DispatcherTally {
    /// Events delivered.
    var sent = 0
    /// Attempts that failed.
    var failed = 0
    /// Events that go once more, each time that they do.
    var retried = 0
    var dead = 0
    var expired = 0
    var evicted = 0
}
