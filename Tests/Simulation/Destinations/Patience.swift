import HeadgateCore
import HeadgateData

/// How long a dispatcher tries with an event (Behaviour D9).
struct Patience {
    let mostAttempts: Int
    /// Nil where that is longer than any history.
    let mostAge: Duration?
    /// The longest wait that the dispatcher makes by itself.
    let longestWait: Duration

    /// What a dispatcher has whose events are given up for their attempts.
    static let usual = Patience(mostAttempts: 2, mostAge: nil, longestWait: .seconds(4))

    /// What a dispatcher of workers has: some attempts more, so that batches which are lost again and again come to be halved.
    static let ofWorkers = Patience(mostAttempts: 6, mostAge: nil, longestWait: .seconds(4))

    /// With waits of a millisecond the model knows to the millisecond for how long an event was tried.
    init(_ record: Record) {
        guard record.oneIn(4) else {
            self = .usual
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

/// When a destination was heard, in one life of the daemon: the model of the clock on which `max_retry_age` counts. From an
/// attempt's beginning to its answer, and while the dispatcher waits because of an answer.
struct HeardTime {
    private var stretches: [(start: Instant, end: Instant)] = []

    mutating func heard(from start: Instant, to end: Instant) {
        stretches.append((start, end))
    }

    /// How much of a time it was heard for; what overlaps counts once.
    func between(_ start: Instant, _ end: Instant) -> Duration {
        var (sum, through) = (Duration.zero, start)
        for stretch in stretches.sorted(by: { $0.start < $1.start }) {
            let (from, to) = (max(stretch.start, through), min(stretch.end, end))
            guard from < to else { continue }
            sum += to - from
            through = to
        }
        return sum
    }
}
