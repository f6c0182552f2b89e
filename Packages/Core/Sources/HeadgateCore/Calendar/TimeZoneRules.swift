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
