import HeadgateData

/// Reads the `Retry-After` header: seconds, or one of the three forms of an HTTP date (RFC 9110, 10.2.3 and 5.6.7).
/// Anything else is ignored (Behaviour D5).
enum RetryAfter {
    /// How long the header asks to wait; nil when it makes no sense. A date that is past asks for no wait.
    static func duration(_ header: String, now: Timestamp) -> Duration? {
        let text = header.trimmingSpaces
        if !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) {
            return .seconds(Int64(text) ?? .max / 1_000_000_000)
        }
        guard let date = date(text) else { return nil }
        return .milliseconds(max(0, date.milliseconds - now.milliseconds))
    }

    /// `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` or `Sun Nov  6 08:49:37 1994`.
    private static func date(_ text: String) -> Timestamp? {
        let words = text.split { $0 == " " || $0 == "-" || $0 == "," }.map(String.init)
        switch words.count {
        case 6 where words[5] == "GMT": return moment(year: words[3], month: words[2], day: words[1], time: words[4])
        case 5: return moment(year: words[4], month: words[1], day: words[2], time: words[3])
        default: return nil
        }
    }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    private static func moment(year: String, month: String, day: String, time: String) -> Timestamp? {
        guard let month = months.firstIndex(of: month), let day = Int(day), let year = fullYear(year) else {
            return nil
        }
        let date = [digits(year, 4), digits(month + 1, 2), digits(day, 2)].joined(separator: "-")
        return Timestamp(rfc3339: "\(date)T\(time)Z")
    }

    /// Two digits stand for the years 1970 to 2069.
    private static func fullYear(_ text: String) -> Int? {
        guard let year = Int(text) else { return nil }
        guard text.utf8.count == 2 else { return year }
        return year < 70 ? 2000 + year : 1900 + year
    }

    private static func digits(_ value: Int, _ count: Int) -> String {
        let text = String(value)
        return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
    }
}

extension String {
    fileprivate var trimmingSpaces: String {
        let start = drop { $0 == " " || $0 == "\t" }
        return String(start.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
    }
}
