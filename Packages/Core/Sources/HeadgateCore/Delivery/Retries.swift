/// The policy that computes the wait of a dispatcher after a failure (Behaviour D4, D5). Pure: the random number is a
/// parameter.
struct RetryPolicy: Sendable {
    /// The number of consecutive failures.
    private(set) var failures = 0

    /// The upper bound of a wait that a destination requests.
    static let longestRetryAfter = Duration.seconds(3600)

    /// Resets the number of failures.
    mutating func succeeded() {
        failures = 0
    }

    /// Counts a failure and returns the wait: `random(0, min(cap, base·2^(k−1)))`, but at least the time that the
    /// destination requested.
    /// - Parameters:
    ///   - base: the upper bound of the first wait.
    ///   - cap: the upper bound of every wait.
    ///   - retryAfter: the time that the destination requested.
    ///   - chance: a random number from 0 to 1.
    mutating func failed(base: Duration, cap: Duration, retryAfter: Duration?, chance: Double) -> Duration {
        failures += 1
        let factor = Double(sign: .plus, exponent: min(failures - 1, 40), significand: 1)
        // Compare by division: the product of a long base could overflow.
        let longest = base >= cap / factor ? cap : base * factor
        let floor = min(retryAfter ?? .zero, RetryPolicy.longestRetryAfter)
        return max(longest * chance, floor)
    }
}

/// A measurement of the time for which a destination has been answering: from sending an attempt to its answer, and the
/// wait that the answer causes (Behaviour D9). Pure.
///
/// Other time does not count: time without answers, with the dispatcher blocked, or with nothing to send. An outage of
/// any length thus makes no dead letters.
struct AnswerClock: Equatable {
    private var counted = Duration.zero
    /// The end of the time that is counted already.
    private var through: Instant?

    /// Returns the counted time. A wait that is not over counts up to now.
    func time(at now: Instant) -> Duration {
        guard let through, through > now else { return counted }
        return counted - (through - now)
    }

    /// Counts the time from `start` to `end`. Overlapping attempts count once.
    mutating func answering(from start: Instant, to end: Instant) {
        let start = max(start, through ?? start)
        counted += max(.zero, end - start)
        through = max(through ?? end, end)
    }
}
