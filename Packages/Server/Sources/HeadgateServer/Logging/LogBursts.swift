import HeadgateCore

/// Keeps a burst of lines that say the same from filling the log (Behaviour O4): the first is told at once, and those that follow
/// it within a while together, with their number. Pure: time is handed in.
struct LogBursts {
    private struct Burst {
        /// What has come since it was told last; nil: nothing.
        var rest: LogLine?
        /// When that is told, or the burst is over.
        var end: Instant
    }

    private var bursts: [String: Burst] = [:]

    /// How long lines are gathered.
    static let length = Duration.seconds(10)
    /// No more bursts at once: what comes beyond is told line by line.
    static let most = 256

    /// A line comes.
    /// - Returns: whether it is to be told now.
    mutating func take(_ line: LogLine, at now: Instant) -> Bool {
        let key = line.sameness
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

    /// When ``timePassed(to:)`` is due; nil while nothing waits.
    var nextDeadline: Instant? {
        bursts.values.lazy.filter { $0.rest != nil }.map(\.end).min()
    }

    /// - Returns: what is to be told now, those that began first in front. A burst that goes on is gathered again.
    mutating func timePassed(to now: Instant) -> [LogLine] {
        let due = bursts.filter { $0.value.rest != nil && $0.value.end <= now }.sorted { $0.value.end < $1.value.end }
        return due.compactMap { key, burst in
            bursts[key] = Burst(end: now + LogBursts.length)
            return burst.rest.map(LogBursts.told)
        }
    }

    /// Tells all that waits: the log ends.
    mutating func end() -> [LogLine] {
        let waiting = bursts.values.sorted { $0.end < $1.end }.compactMap(\.rest)
        bursts = [:]
        return waiting.map(LogBursts.told)
    }

    private static func told(_ line: LogLine) -> LogLine {
        var line = line
        line.span = length
        return line
    }
}
