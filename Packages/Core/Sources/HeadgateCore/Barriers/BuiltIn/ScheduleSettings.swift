import HeadgateData

/// The hours and days at which a way is open.
public struct ScheduleSettings: BarrierConfiguration, Equatable {
    /// The hour at which the window begins, 0 to 23.
    public var startHour = 0
    /// The hour at which it ends, 0 to 24, itself not in it. One before the start is on the next day.
    public var endHour = 24
    /// The days on which the window begins.
    public var days = Set(Weekday.allCases)
    /// The zone whose clocks count, by its name; nil: the machine's.
    public var timeZone: String?
    /// Whether a flush goes through outside the window.
    public var isFlushable = false

    /// Reads `{start_hour, end_hour, days, time_zone, flushable}`. Without hours the window is the whole day.
    public init(reading reader: SettingsReader) {
        startHour = reader.integer("start_hour", in: 0...23) ?? startHour
        endHour = reader.integer("end_hour", in: 0...24) ?? endHour
        days = reader.words("days", of: Weekday.self).map { Set($0) } ?? days
        timeZone = reader.string("time_zone")
        isFlushable = reader.bool("flushable") ?? isFlushable
        // Nobody can tell whether that is to be a whole day or nothing.
        if startHour == endHour {
            reader.fault("end_hour", "", "must not be start_hour; leave both out for the whole day")
        }
    }

    /// The rules of the zone whose clocks count.
    /// - Parameter lookup: finds zones by their names, and the machine's for nil.
    public func rules(_ lookup: (String?) -> TimeZoneRules?) throws(BarrierConfigurationFault) -> TimeZoneRules {
        guard let rules = lookup(timeZone) else { throw ScheduleSettings.unknownTimeZone }
        return rules
    }

    /// What is wrong with a zone that this machine does not know.
    public static let unknownTimeZone = BarrierConfigurationFault(
        key: "time_zone", message: "is no time zone that this machine knows")
}
