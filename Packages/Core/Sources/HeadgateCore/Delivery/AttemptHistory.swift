import HeadgateData

/// A failed attempt of a dispatcher.
struct LastFailure: Equatable {
    let cause: String
    /// The wall-clock time of the attempt, for people.
    let time: Timestamp
}

/// The history of a dispatcher's attempts, as far as the next attempt depends on it. Pure.
struct AttemptHistory {
    /// The last failed attempt; nil after a success.
    private(set) var lastFailure: LastFailure?
    private var retries = RetryPolicy()
    /// The time for which the destination has been answering (Behaviour D9).
    private var answerClock = AnswerClock()

    /// Records a success, which ends the waits.
    mutating func succeeded() {
        lastFailure = nil
        retries.succeeded()
    }

    /// Records a failure that causes no wait by itself.
    mutating func failed(_ cause: String?, at wall: Timestamp) {
        lastFailure = cause.map { LastFailure(cause: $0, time: wall) }
    }

    /// Records a failure, and returns the wait after it (Behaviour D4, D5, D8).
    /// - Parameter isAnswered: true if an answer of the destination was the failure.
    mutating func backOff(
        _ settings: DispatcherSettings, cause: String, retryAfter: Duration?, isAnswered: Bool,
        at moment: DeliveryMoment
    ) -> Duration {
        let wait = retries.failed(
            base: settings.backoffBase, cap: settings.backoffCap, retryAfter: retryAfter, chance: moment.chance)
        failed(cause, at: moment.wall)
        if isAnswered { answering(from: moment.now, to: moment.now + wait) }
        return wait
    }

    /// Records that the destination was answering in this time.
    mutating func answering(from start: Instant, to end: Instant) { answerClock.answering(from: start, to: end) }

    /// Returns the total time for which the destination has been answering.
    func answeredTime(at now: Instant) -> Duration { answerClock.time(at: now) }
}
