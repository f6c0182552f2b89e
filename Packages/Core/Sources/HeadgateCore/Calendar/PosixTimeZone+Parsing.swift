extension PosixTimeZone {
    /// Reads a time zone from the text that POSIX has for it; nil when it is none. Without rules, daylight-saving time
    /// begins and ends as in the United States, as everywhere.
    init?(_ text: some Collection<UInt8>) {
        var text = PosixTimeZoneText(text)
        guard text.skipName(), let west = text.offset() else { return nil }
        standardOffset = -west
        if text.isAtEnd { return }
        guard text.skipName() else { return nil }
        let savingOffset = text.offset().map { -$0 } ?? standardOffset + 3600
        saving = Saving(
            offset: savingOffset, start: YearlyMoment(day: .weekday(month: 3, week: 2, weekday: 0)),
            end: YearlyMoment(day: .weekday(month: 11, week: 1, weekday: 0)))
        if text.isAtEnd { return }
        guard text.skip(","), let start = text.moment(), text.skip(","), let end = text.moment(), text.isAtEnd
        else { return nil }
        saving = Saving(offset: savingOffset, start: start, end: end)
    }
}

/// The text of a POSIX time zone, read from front to back.
private struct PosixTimeZoneText {
    private var rest: ArraySlice<UInt8>

    init(_ text: some Collection<UInt8>) {
        rest = ArraySlice(text)
    }

    var isAtEnd: Bool { rest.isEmpty }

    /// Skips a character, where it is the next.
    mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    /// Skips a zone's short name: letters, or anything in angle brackets.
    mutating func skipName() -> Bool {
        if skip("<") {
            rest = rest.drop { $0 != UInt8(ascii: ">") }
            return skip(">")
        }
        let behind = rest.drop { UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20 }
        defer { rest = behind }
        return rest.count - behind.count >= 3
    }

    /// Seconds west of UTC, not more than a day.
    mutating func offset() -> Int? {
        time(mostHours: 24)
    }

    /// `M3.5.0/2`, `J60`, `59/-1:30`.
    mutating func moment() -> YearlyMoment? {
        guard let day = day() else { return nil }
        var moment = YearlyMoment(day: day)
        guard skip("/") else { return moment }
        guard let time = time(mostHours: 167) else { return nil }
        moment.time = time
        return moment
    }

    private mutating func day() -> YearlyMoment.Day? {
        if skip("J") { return number(1...365).map { .ofCommonYear($0) } }
        guard skip("M") else { return number(0...365).map { .ofYear($0) } }
        guard let month = number(1...12), skip("."), let week = number(1...5), skip("."), let weekday = number(0...6)
        else { return nil }
        return .weekday(month: month, week: week, weekday: weekday)
    }

    /// `[+|-]hours[:minutes[:seconds]]`, in seconds.
    private mutating func time(mostHours: Int) -> Int? {
        let isNegative = skip("-")
        if !isNegative { _ = skip("+") }
        guard var seconds = number(0...mostHours).map({ $0 * 3600 }) else { return nil }
        for unit in [60, 1] where skip(":") {
            guard let part = number(0...59) else { return nil }
            seconds += part * unit
        }
        return isNegative ? -seconds : seconds
    }

    private mutating func number(_ range: ClosedRange<Int>) -> Int? {
        let digits = rest.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        guard 1...3 ~= digits.count else { return nil }
        rest = rest[digits.endIndex...]
        let number = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        return range.contains(number) ? number : nil
    }
}
