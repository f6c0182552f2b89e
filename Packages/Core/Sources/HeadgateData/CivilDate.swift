/// A day of the Gregorian calendar, carried back over all years before it came into use.
public struct CivilDate: Sendable, Hashable {
    /// The year, as people count it; 0 is the year before 1.
    public let year: Int
    /// The month, 1 to 12.
    public let month: Int
    /// The day of the month, 1 to 31.
    public let day: Int

    /// A date that exists; nil for the likes of the 30th of February.
    public init?(year: Int, month: Int, day: Int) {
        guard 1...12 ~= month, day >= 1, day <= CivilDate.length(ofMonth: month, year: year) else { return nil }
        self.year = year
        self.month = month
        self.day = day
    }

    /// The date so many days after the first of January 1970.
    ///
    /// Years are counted from March on, which puts the leap day at their end; 400 of them, an era, always have 146 097
    /// days (Howard Hinnant, "chrono-compatible low-level date algorithms").
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

    /// The number of days from the first of January 1970 to this one; negative before it.
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

    /// Days from the first of March of the year 0 to the first of January 1970.
    private static let daysFromEraTo1970 = 719_468

    private static func length(ofMonth month: Int, year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}
