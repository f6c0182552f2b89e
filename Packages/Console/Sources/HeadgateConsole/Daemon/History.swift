/// The daemon's activity in the last 15 minutes, in steps of two seconds. Only times at which a page was open are
/// known.
struct History: Sendable {
    /// The activity in one step.
    struct Step: Equatable, Sendable {
        /// Events received per second.
        var received = 0.0
        /// Events delivered per second, by all dispatchers together.
        var delivered = 0.0
        /// Events in the store.
        var backlog = 0.0
        /// The times to acknowledge events, or nil if there were none.
        var acknowledged: Quantiles?
        /// The times from receipt to delivery, or nil if there were none.
        var reached: Quantiles?
        /// Events delivered per second, by dispatcher.
        var sent: [String: Double] = [:]
    }

    /// The p50 and p99 of times, in seconds.
    struct Quantiles: Equatable, Sendable {
        let half: Double
        let most: Double
    }

    /// The length of a step, in seconds.
    static let interval = 2.0
    /// The longest time between two readings for which steps are filled, in seconds.
    private static let longestGap = 10.0
    /// The number of steps that are kept.
    static let length = 450

    /// The steps with their numbers, which count steps since the clock's origin. A step's index is its number modulo
    /// ``length``.
    private var ring: [(number: Int, step: Step)?] = Array(repeating: nil, count: length)
    private var last: (time: Double, sample: Sample)?
    private var newest = 0

    /// The values of one reading.
    struct Sample: Sendable {
        var received: Int
        var delivered: Int
        var backlog: Int
        var sent: [String: Int]
        var acknowledged: Histogram?
        var reached: Histogram?
    }

    /// Adds a reading.
    /// - Parameter time: the time of a monotonic clock, in seconds.
    mutating func take(_ sample: Sample, at time: Double) {
        defer { last = (time, sample) }
        // A longer time without readings stays a gap, because only its average would be known.
        guard let last, time > last.time, time - last.time <= Self.longestGap,
            let step = Self.step(from: last.sample, to: sample, seconds: time - last.time)
        else { return }
        let end = Int(time / Self.interval)
        let begin = min(end, Int(last.time / Self.interval) + 1)
        for number in begin...end { ring[number % Self.length] = (number, step) }
        newest = end
    }

    /// Returns the steps of the last 15 minutes, oldest first. A step is nil if there were no readings.
    func steps(at time: Double) -> [Step?] {
        let now = max(Int(time / Self.interval), newest)
        // The present step is incomplete, so the line ends before it unless it is already known.
        let end = newest == now ? now : now - 1
        return ((end - Self.length + 1)...end).map { number in
            guard number >= 0, let (known, step) = ring[number % Self.length], known == number else { return nil }
            return step
        }
    }

    /// The last step, or nil if it is not known.
    var latest: Step? {
        ring[newest % Self.length]?.step
    }

    /// Returns the step between two readings, or nil if the counters went back because the daemon restarted.
    private static func step(from old: Sample, to new: Sample, seconds: Double) -> Step? {
        guard new.received >= old.received, new.delivered >= old.delivered else { return nil }
        var step = Step()
        step.received = Double(new.received - old.received) / seconds
        step.delivered = Double(new.delivered - old.delivered) / seconds
        step.backlog = Double(new.backlog)
        step.acknowledged = quantiles(old.acknowledged, new.acknowledged)
        step.reached = quantiles(old.reached, new.reached)
        for (dispatcher, count) in new.sent {
            guard let before = old.sent[dispatcher], count >= before else { continue }
            step.sent[dispatcher] = Double(count - before) / seconds
        }
        return step
    }

    private static func quantiles(_ old: Histogram?, _ new: Histogram?) -> Quantiles? {
        guard let old, let news = new?.since(old), let half = news.quantile(0.5), let most = news.quantile(0.99) else {
            return nil
        }
        return Quantiles(half: half, most: most)
    }
}

extension History.Sample {
    /// Takes a reading of the daemon's state.
    init(_ state: DaemonState) {
        received = state.counter("received")
        delivered = state.counter("delivered")
        backlog = state.store.get(key: "events") ?? 0
        sent = Dictionary(state.dispatchers.map { ($0.id, $0.sent) }) { $1 }
        acknowledged = state.metrics?.histogram("headgate_acknowledge_seconds")
        reached = state.metrics?.histogram("headgate_delivery_seconds")
    }
}
