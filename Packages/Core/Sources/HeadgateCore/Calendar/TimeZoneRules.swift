import HeadgateData

/// The offset of a time zone from UTC at every moment. The program around Core provides the zones.
public struct TimeZoneRules: Sendable {
    private let secondsEast: @Sendable (Int64) -> Int

    /// - Parameter secondsEast: returns the offset at a moment in seconds, positive east of UTC. The moment is in
    ///   seconds since 1970-01-01T00:00:00Z.
    public init(secondsEast: @escaping @Sendable (_ moment: Int64) -> Int) {
        self.secondsEast = secondsEast
    }

    /// The zone of UTC.
    public static let utc = TimeZoneRules { _ in 0 }

    /// Returns the rules of a zone without a time zone database: UTC, which also stands in for the machine's own zone
    /// (nil). Returns nil for any other name.
    public static func named(_ name: String?) -> TimeZoneRules? {
        name == nil || name == "UTC" ? .utc : nil
    }

    /// Returns the offset at a moment in seconds, positive east of UTC. The moment is in seconds since
    /// 1970-01-01T00:00:00Z.
    func offset(at seconds: Int64) -> Int {
        secondsEast(seconds)
    }

    /// Returns the local time of the zone at a moment.
    func local(at moment: Timestamp) -> LocalTime {
        let seconds = moment.milliseconds.flooredDividing(by: 1000)
        return LocalTime(seconds: seconds + Int64(offset(at: seconds)))
    }
}

/// A local time: a day and the seconds since its midnight.
struct LocalTime: Equatable {
    /// Days since January 1, 1970.
    var day: Int
    /// Seconds since midnight, by the local clock.
    var secondOfDay: Int

    /// - Parameter seconds: local seconds since the beginning of 1970.
    init(seconds: Int64) {
        let day = seconds.flooredDividing(by: 86_400)
        self.day = Int(day)
        secondOfDay = Int(seconds - day * 86_400)
    }

    /// The hour, 0 to 23.
    var hour: Int { secondOfDay / 3600 }
}

/// A day of the week, with the name that settings use.
public enum Weekday: String, CaseIterable, Sendable {
    case monday = "mon"
    case tuesday = "tue"
    case wednesday = "wed"
    case thursday = "thu"
    case friday = "fri"
    case saturday = "sat"
    case sunday = "sun"

    /// Creates the weekday of a day, given in days since January 1, 1970.
    init(daysSince1970 days: Int) {
        self = Weekday.allCases[CivilDate(daysSince1970: days).weekday]
    }
}

extension Int64 {
    /// Returns the quotient, rounded down.
    func flooredDividing(by divisor: Int64) -> Int64 {
        let quotient = self / divisor
        return self % divisor < 0 ? quotient - 1 : quotient
    }
}
