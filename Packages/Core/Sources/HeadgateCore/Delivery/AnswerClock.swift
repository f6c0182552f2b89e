/// Counts the time for which a destination has been heard: from the sending of an attempt that got an answer to that answer,
/// and the wait that the answer made necessary. What goes by otherwise is not counted: while nothing answers, while
/// barriers hold the dispatcher, while there is nothing to send. So an outage, however long, makes no dead letters
/// (Behaviour D9). Pure.
struct AnswerClock: Equatable {
    private var counted = Duration.zero
    /// Up to where all is counted that will ever be.
    private var through: Instant?

    /// What the clock shows. A wait under way is counted as far as it has come.
    func time(at now: Instant) -> Duration {
        guard let through, through > now else { return counted }
        return counted - (through - now)
    }

    /// Something was heard for all of this time: attempts may overlap, and a moment counts once.
    mutating func heard(from start: Instant, to end: Instant) {
        let start = max(start, through ?? start)
        counted += max(.zero, end - start)
        through = max(through ?? end, end)
    }
}
