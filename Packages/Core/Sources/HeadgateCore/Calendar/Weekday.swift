import HeadgateData

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
