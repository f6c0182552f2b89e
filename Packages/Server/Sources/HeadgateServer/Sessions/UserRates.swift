import HeadgateCore

/// The setting `limits.rate`: the most events of one user (Behaviour Q4).
public struct EventRate: Equatable, Sendable {
    /// The most events per second in the long run.
    public var perSecond: Int
    /// The most events at once.
    public var burst: Int

    public init(perSecond: Int, burst: Int) {
        (self.perSecond, self.burst) = (perSecond, burst)
    }

    /// The average time between two events at this rate, in nanoseconds.
    fileprivate var interval: Double { 1e9 / Double(perSecond) }
}

/// The rates of all users' events, measured against `limits.rate` with a token bucket for each user. A pure value.
///
/// A user may overspend, because one line may contain a thousand events. The user then waits the longer.
struct UserRates {
    /// The present setting, or nil for no limit.
    var rate: EventRate? {
        didSet { if rate != oldValue { fullAt = [:] } }
    }
    /// The time at which each user's bucket is full again. Users with a full bucket may be absent.
    private var fullAt: [UInt32: Instant] = [:]
    private static let mostKept = 1024

    /// Returns the number of events that a user may send now. Returns the largest number without a limit.
    func left(of uid: UInt32, at now: Instant) -> Int {
        guard let rate else { return .max }
        return Int(Double(rate.burst) - missing(uid, now) / rate.interval)
    }

    /// Counts events that a user has sent.
    mutating func spend(_ events: Int, of uid: UInt32, at now: Instant) {
        guard let rate, events > 0 else { return }
        let time = missing(uid, now) + Double(events) * rate.interval
        fullAt[uid] = now + .nanoseconds(Int64(min(time, UserRates.longest)))
        if fullAt.count > UserRates.mostKept { fullAt = fullAt.filter { $0.value > now } }
    }

    /// Returns the time at which a user may send an event again.
    func next(of uid: UInt32, at now: Instant) -> Instant {
        guard let rate else { return now }
        let wait = missing(uid, now) - Double(rate.burst - 1) * rate.interval
        return now + .nanoseconds(Int64(max(0, min(wait, UserRates.longest)).rounded(.up)))
    }

    /// The longest debt of a user, in nanoseconds: a year.
    private static let longest = 365 * 86_400 * 1e9

    /// Returns the time until a user's bucket is full, in nanoseconds.
    private func missing(_ uid: UInt32, _ now: Instant) -> Double {
        guard let full = fullAt[uid], full > now else { return 0 }
        return Double((full - now).wholeNanoseconds)
    }
}
