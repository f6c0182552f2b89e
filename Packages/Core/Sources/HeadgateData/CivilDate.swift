/// A day of the proleptic Gregorian calendar: the calendar is also applied to the years before its introduction.
public struct CivilDate: Sendable, Hashable {
    /// The astronomical year. Year 0 is the year before year 1.
    public let year: Int
    /// The month, 1 to 12.
    public let month: Int
    /// The day of the month, 1 to 31.
    public let day: Int

    /// Creates a date; nil if the date does not exist, such as February 30.
    public init?(year: Int, month: Int, day: Int) {
        guard 1...12 ~= month, day >= 1, day <= CivilDate.length(ofMonth: month, year: year) else { return nil }
        self.year = year
        self.month = month
        self.day = day
    }

    /// Creates the date that is a number of days after January 1, 1970.
    ///
    /// The algorithm counts years from March on, so that the leap day is the last day of a year. An era of 400 such
    /// years always has 146 097 days (Howard Hinnant, "chrono-compatible low-level date algorithms").
    public init(daysSince1970 days: Int) {
        let shifted = days + CivilDate.daysFromEraTo1970
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// The number of days from January 1, 1970 to this date. The number is negative for earlier dates.
    public var daysSince1970: Int {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - CivilDate.daysFromEraTo1970
    }

    /// The day of the week: 0 is Monday, 6 is Sunday.
    public var weekday: Int {
        let remainder = (daysSince1970 + 3) % 7
        return remainder < 0 ? remainder + 7 : remainder
    }

    /// Days from March 1 of year 0 to January 1, 1970.
    private static let daysFromEraTo1970 = 719_468

    private static func length(ofMonth month: Int, year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}
