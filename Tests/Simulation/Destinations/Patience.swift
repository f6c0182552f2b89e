import HeadgateCore
import HeadgateData

/// The retry limits of a dispatcher (Behaviour D9).
struct Patience {
    let mostAttempts: Int
    /// The maximum retry age, or nil if it exceeds any history.
    let mostAge: Duration?
    /// The longest wait between attempts.
    let longestWait: Duration

    /// The limits of a dispatcher that dead-letters events for their attempts.
    static let `default` = Patience(mostAttempts: 2, mostAge: nil, longestWait: .seconds(4))

    /// The limits of a worker dispatcher: enough attempts for batches lost repeatedly to be halved, and so few that halves
    /// reach the last one.
    static let ofWorkers = Patience(mostAttempts: 4, mostAge: nil, longestWait: .seconds(4))

    /// With waits of a millisecond the model knows the retry age to the millisecond.
    init(_ record: Record) {
        guard record.oneIn(4) else {
            self = .default
            return
        }
        self.init(
            mostAttempts: record.pick([6, 30]), mostAge: .seconds(record.pick([1, 2, 5])),
            longestWait: .milliseconds(record.pick([1, 4_000])))
    }

    private init(mostAttempts: Int, mostAge: Duration?, longestWait: Duration) {
        (self.mostAttempts, self.mostAge, self.longestWait) = (mostAttempts, mostAge, longestWait)
    }

    var settings: DataObject {
        let wait = DataNumber(Int(longestWait.wholeMilliseconds))
        var settings: DataObject = [
            "max_attempts": .number(DataNumber(mostAttempts)), "backoff": ["cap_ms": .number(wait)],
        ]
        if let mostAge {
            settings["max_retry_age_s"] = .number(DataNumber(Int(mostAge.wholeMilliseconds / 1_000)))
        }
        return settings
    }
}

/// The model of the clock for `max_retry_age` in one life of the daemon. It counts the time of each attempt until its
/// answer, and the waits that answers cause.
struct HeardTime {
    private var spans: [(start: Instant, end: Instant)] = []

    mutating func answering(from start: Instant, to end: Instant) {
        spans.append((start, end))
    }

    /// Returns the counted time in an interval. Overlaps count once.
    func between(_ start: Instant, _ end: Instant) -> Duration {
        var (sum, through) = (Duration.zero, start)
        for span in spans.sorted(by: { $0.start < $1.start }) {
            let (from, to) = (max(span.start, through), min(span.end, end))
            guard from < to else { continue }
            sum += to - from
            through = to
        }
        return sum
    }
}
