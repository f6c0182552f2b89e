import HeadgateData

/// A time zone in a line of text, as POSIX has it for `TZ`: `CET-1CEST,M3.5.0,M10.5.0/3`.
struct PosixTimeZone: Equatable {
    /// Seconds east of UTC outside daylight-saving time.
    var standardOffset: Int
    /// Daylight-saving time; nil where there is none.
    var saving: Saving?

    /// Daylight-saving time, year for year.
    struct Saving: Equatable {
        /// Seconds east of UTC while it lasts.
        var offset: Int
        /// When it begins, as clocks show it before.
        var start: YearlyMoment
        /// When it ends, as clocks show it before.
        var end: YearlyMoment
    }

    /// Seconds east of UTC at a moment, given in seconds since the beginning of 1970 in UTC.
    func offset(at seconds: Int64) -> Int {
        guard let saving else { return standardOffset }
        let year = CivilDate(daysSince1970: LocalTime(seconds: seconds + Int64(standardOffset)).day).year
        let start = saving.start.seconds(in: year) - Int64(standardOffset)
        let end = saving.end.seconds(in: year) - Int64(saving.offset)
        // South of the equator it ends in the year before it begins.
        let isSaving = start < end ? start <= seconds && seconds < end : seconds < end || start <= seconds
        return isSaving ? saving.offset : standardOffset
    }
}

/// A moment that comes once a year, in local time.
struct YearlyMoment: Equatable {
    /// The day, in one of POSIX's three ways.
    enum Day: Equatable {
        /// The nth day, 1 to 365; the 29th of February is not counted.
        case ofCommonYear(Int)
        /// The nth day, 0 to 365; the 29th of February is counted.
        case ofYear(Int)
        /// The nth (1 to 4, or 5 for the last) of a weekday (0 is Sunday) in a month.
        case weekday(month: Int, week: Int, weekday: Int)
    }

    var day: Day
    /// Seconds from the day's midnight; also negative, or more than a day's.
    var time = 7200

    /// The moment in a year, in seconds from the beginning of 1970 on the local clock.
    func seconds(in year: Int) -> Int64 {
        Int64(days(in: year)) * 86_400 + Int64(time)
    }

    private func days(in year: Int) -> Int {
        switch day {
        case .ofYear(let place): return YearlyMoment.days(year, 1) + place
        case .ofCommonYear(let place):
            let march = YearlyMoment.days(year, 3)
            // Counted from March on, or back from it, no leap day is in the way.
            return place > 59 ? march + place - 60 : YearlyMoment.days(year, 1) + place - 1
        case .weekday(let month, let week, let weekday):
            let first = YearlyMoment.days(year, month)
            let next = month == 12 ? YearlyMoment.days(year + 1, 1) : YearlyMoment.days(year, month + 1)
            let firstWeekday = first + (weekday - YearlyMoment.sundayBased(first) + 7) % 7
            let wanted = firstWeekday + (week - 1) * 7
            return wanted < next ? wanted : wanted - 7
        }
    }

    /// Days from 1970 to the first of a month.
    private static func days(_ year: Int, _ month: Int) -> Int {
        // The first of a month from 1 to 12 exists in every year.
        CivilDate(year: year, month: month, day: 1)?.daysSince1970 ?? 0
    }

    /// The weekday of a day since 1970, 0 for Sunday.
    private static func sundayBased(_ day: Int) -> Int {
        (CivilDate(daysSince1970: day).weekday + 1) % 7
    }
}
