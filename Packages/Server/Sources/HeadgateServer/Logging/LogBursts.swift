import HeadgateCore

/// A filter that keeps bursts of equal lines from filling the log (Behaviour O4). The first line is logged at once.
/// Equal lines within the next ten seconds become one line with their count. A pure value: the caller passes the time.
struct LogBursts {
    private struct Burst {
        /// The lines since the last logged one, merged into one line, or nil if there are none.
        var rest: LogLine?
        /// The time at which the merged line is logged. Without such a line the burst ends then.
        var end: Instant
    }

    private var bursts: [String: Burst] = [:]

    /// The time for which equal lines are collected.
    static let length = Duration.seconds(10)
    /// The most bursts at a time. Lines beyond them are logged one by one.
    static let most = 256

    /// Starts a burst with a line, or adds the line to the burst of equal lines.
    /// - Returns: true if the caller must log the line now.
    mutating func take(_ line: LogLine, at now: Instant) -> Bool {
        let key = line.burstKey
        guard var burst = bursts[key], burst.end > now || burst.rest != nil else {
            forgetOver(at: now)
            if bursts.count < LogBursts.most { bursts[key] = Burst(end: now + LogBursts.length) }
            return true
        }
        if burst.rest == nil { burst.rest = line } else { burst.rest?.merge(line) }
        bursts[key] = burst
        return false
    }

    private mutating func forgetOver(at now: Instant) {
        guard bursts.count >= LogBursts.most else { return }
        bursts = bursts.filter { $0.value.rest != nil || $0.value.end > now }
    }

    /// The time at which ``timePassed(to:)`` is due, or nil if no line is held back.
    var nextDeadline: Instant? {
        bursts.values.lazy.filter { $0.rest != nil }.map(\.end).min()
    }

    /// Ends the bursts that are over, and starts them again if they held a line back.
    /// - Returns: the lines to log now, those of the oldest bursts first.
    mutating func timePassed(to now: Instant) -> [LogLine] {
        let due = bursts.filter { $0.value.rest != nil && $0.value.end <= now }.sorted { $0.value.end < $1.value.end }
        return due.compactMap { key, burst in
            bursts[key] = Burst(end: now + LogBursts.length)
            return burst.rest.map(LogBursts.withSpan)
        }
    }

    /// Ends all bursts.
    /// - Returns: the lines that were held back.
    mutating func end() -> [LogLine] {
        let waiting = bursts.values.sorted { $0.end < $1.end }.compactMap(\.rest)
        bursts = [:]
        return waiting.map(LogBursts.withSpan)
    }

    /// Returns the last line of a burst, with the time that the burst covers.
    private static func withSpan(_ line: LogLine) -> LogLine {
        var line = line
        line.span = length
        return line
    }
}
