/// How long a dispatcher waits after a failure (Behaviour D4, D5). Pure: chance is handed in.
struct RetryPolicy: Sendable {
    /// Failures in a row.
    private(set) var failures = 0

    /// A wait never exceeds this because a destination asked for it.
    static let longestRetryAfter = Duration.seconds(3600)

    /// Any success begins anew.
    mutating func succeeded() {
        failures = 0
    }

    /// Counts a failure.
    /// - Parameters:
    ///   - retryAfter: what the destination asked for, a floor for the wait.
    ///   - chance: from 0 to 1.
    /// - Returns: how long to wait: `random(0, min(cap, base·2^(k−1)))`, and no less than the floor.
    mutating func failed(base: Duration, cap: Duration, retryAfter: Duration?, chance: Double) -> Duration {
        failures += 1
        let factor = Double(sign: .plus, exponent: min(failures - 1, 40), significand: 1)
        // Divided, not multiplied, to compare: the product of a long base could not be represented.
        let longest = base >= cap / factor ? cap : base * factor
        let floor = min(retryAfter ?? .zero, RetryPolicy.longestRetryAfter)
        return max(longest * chance, floor)
    }
}

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
