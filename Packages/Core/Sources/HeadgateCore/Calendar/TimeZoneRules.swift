import HeadgateData

/// How far a time zone is from UTC, at every moment.
public struct TimeZoneRules: Equatable, Sendable {
    /// A moment from which on an offset holds.
    struct Transition: Equatable {
        /// Seconds since the beginning of 1970 in UTC.
        var seconds: Int64
        /// Seconds east of UTC from then on.
        var offset: Int
    }

    /// What holds before the first transition: seconds east of UTC.
    var firstOffset: Int
    /// The changes that are written down, in order of time.
    var transitions: [Transition] = []
    /// The rule for what comes after them; nil: the last offset stays.
    var laterRule: PosixTimeZone?

    /// The zone of UTC.
    public static let utc = TimeZoneRules(firstOffset: 0)

    /// The zones known without a table of them: UTC, which also stands in for the machine's.
    public static func named(_ name: String?) -> TimeZoneRules? {
        name == nil || name == "UTC" ? .utc : nil
    }

    /// Seconds east of UTC at a moment, given in seconds since the beginning of 1970 in UTC.
    func offset(at seconds: Int64) -> Int {
        guard let last = transitions.last else { return laterRule?.offset(at: seconds) ?? firstOffset }
        if seconds >= last.seconds { return laterRule?.offset(at: seconds) ?? last.offset }
        let later = transitions.partitioningIndex { $0.seconds > seconds }
        return later == 0 ? firstOffset : transitions[later - 1].offset
    }

    /// What a clock in the zone shows at a moment.
    func local(at moment: Timestamp) -> LocalTime {
        let seconds = moment.milliseconds.flooredDividing(by: 1000)
        return LocalTime(seconds: seconds + Int64(offset(at: seconds)))
    }
}

extension RandomAccessCollection {
    /// The place of the first element that `belongs`, when all that do come behind all that do not.
    fileprivate func partitioningIndex(where belongs: (Element) -> Bool) -> Index {
        var (low, count) = (startIndex, count)
        while count > 0 {
            let half = count / 2
            let middle = index(low, offsetBy: half)
            if belongs(self[middle]) {
                count = half
            } else {
                low = index(after: middle)
                count -= half + 1
            }
        }
        return low
    }
}
