import CBuild
import HeadgateData

/// The day on which the program was built. A wall clock that shows an earlier day is wrong (Behaviour P7).
enum BuildDate {
    /// The beginning of the day before the build, in UTC. The compiler's time zone is unknown, so its date may be a day
    /// ahead of UTC.
    static let earliest = parse(String(cString: cbuild_date())) ?? .unknownBuild

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Reads the form of C's `__DATE__`, like `Nov  6 2026`. Returns nil if the text has another form.
    static func parse(_ text: String) -> Timestamp? {
        let words = text.split(separator: " ")
        guard words.count == 3, let month = months.firstIndex(of: String(words[0])), let day = Int(words[1]),
            let year = Int(words[2]), let date = CivilDate(year: year, month: month + 1, day: day)
        else { return nil }
        return Timestamp(milliseconds: Int64(date.daysSince1970 - 1) * 86_400_000)
    }
}
