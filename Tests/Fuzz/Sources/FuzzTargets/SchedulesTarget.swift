import HeadgateData

@testable import HeadgateCore
@testable import HeadgateServer

/// The hours of a schedule in any time zone. The reported next opening must be one, with no earlier opening.
enum SchedulesTarget {
    /// The input is hours, days, a moment, and a POSIX time zone string.
    static func run(_ input: UnsafeRawBufferPointer) -> Int32 {
        var input = FuzzInput(input)
        guard var settings = try? ScheduleSettings(DataObject()) else { preconditionFailure("no settings") }
        settings.startHour = input.number(below: 24)
        settings.endHour = input.number(below: 25)
        let days = input.byte()
        settings.days = Set(Weekday.allCases.enumerated().filter { days >> $0.offset & 1 == 1 }.map(\.element))
        let moment = Timestamp(milliseconds: Int64(input.integer(UInt32.self)) * 1_000 + Int64(input.byte()))
        guard settings.startHour != settings.endHour,
            let zone = TimeZoneTable(posix: String(decoding: input.remainder(), as: UTF8.self))
        else { return -1 }
        inspect(OpeningHours(settings: settings, rules: zone.rules), at: moment, zone)
        return 0
    }

    private static func inspect(_ hours: OpeningHours, at moment: Timestamp, _ zone: TimeZoneTable) {
        let local = hours.rules.local(at: moment)
        precondition((0..<86_400).contains(local.secondOfDay))
        precondition(hours.isOpen(at: moment) == plain(hours.settings, local))
        let minute = hours.nextMinute(after: moment)
        precondition(minute > moment && minute.milliseconds - moment.milliseconds <= 60_000)
        guard let opening = hours.nextOpening(after: moment) else { return nothingOpens(hours, after: moment) }
        precondition(opening > moment && hours.isOpen(at: opening))
        var earlier = moment
        while earlier < opening {
            // Only for a moment at which the window is not open.
            if !hours.isOpen(at: moment) { precondition(!hours.isOpen(at: earlier), "open before \(opening.text)") }
            earlier.milliseconds += 3_600_000
        }
    }

    private static func nothingOpens(_ hours: OpeningHours, after moment: Timestamp) {
        precondition(hours.settings.days.isEmpty || hours.settings.days.count < 7)
    }

    /// A simple version of the rule: a window belongs to the day on which it begins (Behaviour B24).
    private static func plain(_ settings: ScheduleSettings, _ local: LocalTime) -> Bool {
        [0, 1].contains { daysAgo in
            let begun = CivilDate(daysSince1970: local.day - daysAgo).weekday
            guard settings.days.contains(Weekday.allCases[begun]) else { return false }
            let length = (settings.endHour - settings.startHour + 24) % 24
            let hour = daysAgo * 24 + local.hour
            return hour >= settings.startHour && hour < settings.startHour + (length == 0 ? 24 : length)
        }
    }
}
