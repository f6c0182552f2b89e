import HeadgateData

/// How far a time zone is from UTC, at every moment. Where zones come from is the matter of who runs the service.
public struct TimeZoneRules: Sendable {
    private let secondsEast: @Sendable (Int64) -> Int

    /// - Parameter secondsEast: Tells seconds east of UTC at a moment, given in seconds since the beginning of 1970 in UTC.
    public init(secondsEast: @escaping @Sendable (_ moment: Int64) -> Int) {
        self.secondsEast = secondsEast
    }

    /// The zone of UTC.
    public static let utc = TimeZoneRules { _ in 0 }

    /// The zones known without a table of them: UTC, which also stands in for the machine's.
    public static func named(_ name: String?) -> TimeZoneRules? {
        name == nil || name == "UTC" ? .utc : nil
    }

    /// Seconds east of UTC at a moment, given in seconds since the beginning of 1970 in UTC.
    func offset(at seconds: Int64) -> Int {
        secondsEast(seconds)
    }

    /// What a clock in the zone shows at a moment.
    func local(at moment: Timestamp) -> LocalTime {
        let seconds = moment.milliseconds.flooredDividing(by: 1000)
        return LocalTime(seconds: seconds + Int64(offset(at: seconds)))
    }
}

/// What a clock on the wall shows: a day, and the seconds since it began.
struct LocalTime: Equatable {
    /// Days since the first of January 1970.
    var day: Int
    /// Seconds since midnight, as the clock shows them.
    var secondOfDay: Int

    /// - Parameter seconds: counted from the beginning of 1970 as the clock showed it.
    init(seconds: Int64) {
        let day = seconds.flooredDividing(by: 86_400)
        self.day = Int(day)
        secondOfDay = Int(seconds - day * 86_400)
    }

    /// The hour, 0 to 23.
    var hour: Int { secondOfDay / 3600 }
}

/// A day of the week, as settings name it.
public enum Weekday: String, CaseIterable, Sendable {
    case monday = "mon"
    case tuesday = "tue"
    case wednesday = "wed"
    case thursday = "thu"
    case friday = "fri"
    case saturday = "sat"
    case sunday = "sun"

    /// The weekday of a day, counted from the first of January 1970.
    init(daysSince1970 days: Int) {
        self = Weekday.allCases[CivilDate(daysSince1970: days).weekday]
    }
}

extension Int64 {
    /// The quotient, rounded down.
    func flooredDividing(by divisor: Int64) -> Int64 {
        let quotient = self / divisor
        return self % divisor < 0 ? quotient - 1 : quotient
    }
}
