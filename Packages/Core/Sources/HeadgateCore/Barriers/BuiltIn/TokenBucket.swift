/// Tokens that come back one after the other, up to a number. It is kept as the moment at which it is full again, so that
/// nothing has to be counted while time goes by, and no fraction of a token is lost.
struct TokenBucket: Equatable {
    /// The time in which one token comes back; nil: there are always enough.
    private(set) var interval: Duration?
    private(set) var size: Int
    /// Until when tokens are missing.
    private var fullAt: Instant

    /// A full bucket.
    init(_ settings: RateSettings, at now: Instant) {
        interval = settings.interval
        size = settings.burst
        fullAt = now
    }

    /// Takes tokens out, also more than there are: what is owed has to come back before there is one again.
    mutating func take(_ count: Int, at now: Instant) {
        guard let interval else { return }
        fullAt = max(fullAt, now) + interval * count
    }

    /// The moment from which there is a whole token.
    var readyAt: Instant {
        guard let interval else { return Instant(nanoseconds: .min) }
        return fullAt + interval * (1 - size)
    }

    /// Whether there is a whole token.
    func isReady(at now: Instant) -> Bool {
        readyAt <= now
    }

    /// Goes on with another size or speed; as many tokens as were missing are missing still.
    mutating func change(to settings: RateSettings, at now: Instant) {
        let missing = interval.map { max(.zero, fullAt - now) / $0 } ?? 0
        interval = settings.interval
        size = settings.burst
        fullAt = now + (interval ?? .zero) * missing
    }
}
