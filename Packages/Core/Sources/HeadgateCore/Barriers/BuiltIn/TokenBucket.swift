/// Tokens that come back one after the other, up to a number. What is missing is kept as the time until all are back, so
/// that no fraction of a token is lost, and nothing has to be counted while time goes by.
struct TokenBucket: Equatable {
    /// The time in which one token comes back; nil: there are always enough.
    private(set) var interval: Duration?
    private(set) var size: Int
    /// How long it took, at `asOf`, until all tokens are back.
    private var debt = Duration.zero
    private var asOf: Instant

    /// A full bucket.
    init(_ settings: RateSettings, at now: Instant) {
        interval = settings.interval
        size = settings.burst
        asOf = now
    }

    /// Takes tokens out, also more than there are: what is owed has to come back before there is one again.
    mutating func take(_ count: Int, at now: Instant) {
        guard let interval else { return }
        pass(to: now)
        debt = min(debt + interval * count, TokenBucket.mostDebt)
    }

    /// The moment from which there is a whole token.
    var readyAt: Instant {
        asOf + (debt - (interval ?? .zero) * (size - 1))
    }

    /// Whether there is a whole token.
    func isReady(at now: Instant) -> Bool {
        readyAt <= now
    }

    /// Goes on with another size or speed; as many tokens as were missing are missing still.
    mutating func change(to settings: RateSettings, at now: Instant) {
        pass(to: now)
        let missing = interval.map { debt / $0 } ?? 0
        interval = settings.interval
        size = settings.burst
        debt = min((interval ?? .zero) * missing, TokenBucket.mostDebt)
    }

    private mutating func pass(to now: Instant) {
        debt = max(.zero, debt - (now - asOf))
        asOf = now
    }

    /// More than anybody waits for, and so little that sums of it can be said.
    private static let mostDebt = Duration.seconds(1 << 50)
}
