import HeadgateData

/// A past time in the form of the command line: a timestamp, or the time since then.
enum PastTime {
    /// The accepted forms, for error messages.
    static let examples = "a time like 2026-03-01T10:00:00Z nor an age like 90s, 15m, 1h, 2d or 1h30m"

    /// Reads a past time. Returns nil if the text has neither form, or if the time is before 1970.
    static func parse(_ text: String, now: Timestamp) -> Timestamp? {
        if let time = Timestamp(rfc3339: text) { return time }
        guard let length = TimeSpan.milliseconds(text), length <= now.milliseconds else { return nil }
        return Timestamp(milliseconds: now.milliseconds - length)
    }
}

/// A time span in the form of the command line: `90s`, `15m`, `1h30m`.
enum TimeSpan {
    /// The accepted forms, for error messages.
    static let examples = "a duration like 500ms, 90s, 15m, 1h, 2d or 1h30m"

    /// Reads whole numbers with units, one after the other. Returns nil if the text is malformed or the span is too
    /// long.
    static func milliseconds(_ text: String) -> Int64? {
        var rest = text[...]
        var sum: Int64 = 0
        repeat {
            let digits = rest.prefix { ("0"..."9").contains($0) }
            let unit = rest[digits.endIndex...].prefix { !("0"..."9").contains($0) }
            guard let number = Int64(digits), let length = units[String(unit)] else { return nil }
            let (product, isTooLarge) = number.multipliedReportingOverflow(by: length)
            let (total, isOver) = sum.addingReportingOverflow(product)
            guard !isTooLarge, !isOver else { return nil }
            (sum, rest) = (total, rest[unit.endIndex...])
        } while !rest.isEmpty
        return sum
    }

    private static let units: [String: Int64] = [
        "ms": 1, "s": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000,
    ]
}
