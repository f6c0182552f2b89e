/// The last quarter of an hour, for as long as somebody looked: what happened between two looks at the daemon.
struct History: Sendable {
    /// What there is between two looks.
    struct Step: Equatable, Sendable {
        /// Events received a second.
        var received = 0.0
        /// Events delivered a second, of all dispatchers together.
        var delivered = 0.0
        /// Events in the store.
        var backlog = 0.0
        /// How long half of the acknowledgements took at most, in seconds; nil where there were none.
        var acknowledged: Quantiles?
        /// How long it took from receipt to delivery.
        var reached: Quantiles?
        /// Events delivered a second, by dispatcher.
        var sent: [String: Double] = [:]
    }

    /// What half, and what 99 of a hundred, do not exceed, in seconds.
    struct Quantiles: Equatable, Sendable {
        let half: Double
        let most: Double
    }

    /// So long is a step.
    static let interval = 2.0
    /// Looks that lie further apart do not belong together, in seconds.
    private static let longestStride = 10.0
    /// So many steps are kept.
    static let length = 450

    /// The steps by their number, counted from the clock's origin; a number is the place it has modulo the length.
    private var ring: [(number: Int, step: Step)?] = Array(repeating: nil, count: length)
    private var last: (time: Double, look: Look)?
    private var newest = 0

    /// What is seen at one look.
    struct Look: Sendable {
        var received: Int
        var delivered: Int
        var backlog: Int
        var sent: [String: Int]
        var acknowledged: Histogram?
        var reached: Histogram?
    }

    /// Takes in how things stand.
    /// - Parameter time: seconds on a clock that never jumps.
    mutating func take(_ look: Look, at time: Double) {
        defer { last = (time, look) }
        // Where nobody looked there is a gap: of a longer while only the average would be known.
        guard let last, time > last.time, time - last.time <= Self.longestStride,
            let step = Self.step(from: last.look, to: look, seconds: time - last.time)
        else { return }
        let end = Int(time / Self.interval)
        let begin = min(end, Int(last.time / Self.interval) + 1)
        for number in begin...end { ring[number % Self.length] = (number, step) }
        newest = end
    }

    /// The steps of the last quarter of an hour, the oldest first; nil where nobody looked.
    func steps(at time: Double) -> [Step?] {
        let now = max(Int(time / Self.interval), newest)
        // The present step has only begun: the line ends with the one before it unless it is known.
        let end = newest == now ? now : now - 1
        return ((end - Self.length + 1)...end).map { number in
            guard number >= 0, let (known, step) = ring[number % Self.length], known == number else { return nil }
            return step
        }
    }

    /// The last step; nil where it is not known.
    var latest: Step? {
        ring[newest % Self.length]?.step
    }

    /// Nil where the counters went back: the daemon has begun anew.
    private static func step(from old: Look, to new: Look, seconds: Double) -> Step? {
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

extension History.Look {
    /// What is seen of the daemon.
    init(_ state: DaemonState) {
        received = state.counter("received")
        delivered = state.counter("delivered")
        backlog = state.store.get(key: "events") ?? 0
        sent = Dictionary(state.dispatchers.map { ($0.id, $0.sent) }) { $1 }
        acknowledged = state.metrics?.histogram("headgate_acknowledge_seconds")
        reached = state.metrics?.histogram("headgate_delivery_seconds")
    }
}
