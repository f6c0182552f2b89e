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
