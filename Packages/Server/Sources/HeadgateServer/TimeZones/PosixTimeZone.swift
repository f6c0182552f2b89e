import HeadgateData

/// A time zone in POSIX's form of `TZ`: `CET-1CEST,M3.5.0,M10.5.0/3`.
struct PosixTimeZone: Equatable {
    /// Seconds east of UTC outside daylight-saving time.
    var standardOffset: Int
    /// The rule of daylight-saving time, or nil if there is none.
    var saving: Saving?

    /// The rule of daylight-saving time for every year.
    struct Saving: Equatable {
        /// Seconds east of UTC during daylight-saving time.
        var offset: Int
        /// The start, on a clock that shows standard time.
        var start: YearlyMoment
        /// The end, on a clock that shows daylight-saving time.
        var end: YearlyMoment
    }

    /// Returns the seconds east of UTC at a time, given in seconds since 1970-01-01 00:00 UTC.
    func offset(at seconds: Int64) -> Int {
        guard let saving else { return standardOffset }
        let year = PosixTimeZone.year(at: seconds + Int64(standardOffset))
        let start = saving.start.seconds(in: year) - Int64(standardOffset)
        let end = saving.end.seconds(in: year) - Int64(saving.offset)
        // South of the equator daylight-saving time ends in the year after it begins.
        let isSaving = start < end ? start <= seconds && seconds < end : seconds < end || start <= seconds
        return isSaving ? saving.offset : standardOffset
    }

    /// Returns the year of a local time.
    private static func year(at seconds: Int64) -> Int {
        let secondOfDay = (seconds % 86_400 + 86_400) % 86_400
        return CivilDate(daysSince1970: Int((seconds - secondOfDay) / 86_400)).year
    }
}

/// A time that comes once a year, in local time.
struct YearlyMoment: Equatable {
    /// The day, in one of POSIX's three forms.
    enum Day: Equatable {
        /// The nth day of the year, 1 to 365, without the 29th of February.
        case ofCommonYear(Int)
        /// The nth day of the year, 0 to 365, with the 29th of February.
        case ofYear(Int)
        /// The nth (1 to 4, or 5 for the last) of a weekday (0 is Sunday) in a month.
        case weekday(month: Int, week: Int, weekday: Int)
    }

    var day: Day
    /// Seconds from midnight of the day. They may be negative, or more than a day.
    var time = 7200

    /// Returns the time in a year, in seconds since 1970-01-01 00:00 on the local clock.
    func seconds(in year: Int) -> Int64 {
        Int64(days(in: year)) * 86_400 + Int64(time)
    }

    private func days(in year: Int) -> Int {
        switch day {
        case .ofYear(let day): return YearlyMoment.days(year, 1) + day
        case .ofCommonYear(let day):
            let march = YearlyMoment.days(year, 3)
            // Days from March on are counted from the first of March, and days before it from the first of January. So
            // a leap day does not count.
            return day > 59 ? march + day - 60 : YearlyMoment.days(year, 1) + day - 1
        case .weekday(let month, let week, let weekday):
            let first = YearlyMoment.days(year, month)
            let next = month == 12 ? YearlyMoment.days(year + 1, 1) : YearlyMoment.days(year, month + 1)
            let firstWeekday = first + (weekday - YearlyMoment.sundayBased(first) + 7) % 7
            let day = firstWeekday + (week - 1) * 7
            return day < next ? day : day - 7
        }
    }

    /// Returns the days from 1970-01-01 to the first day of a month.
    private static func days(_ year: Int, _ month: Int) -> Int {
        // The first day of a month from 1 to 12 exists in every year.
        CivilDate(year: year, month: month, day: 1)?.daysSince1970 ?? 0
    }

    /// Returns the weekday of a day since 1970, 0 for Sunday.
    private static func sundayBased(_ day: Int) -> Int {
        (CivilDate(daysSince1970: day).weekday + 1) % 7
    }
}

extension PosixTimeZone {
    /// Reads a time zone in POSIX's form. Returns nil if the text is malformed. Without rules, daylight-saving time
    /// begins and ends as in the United States, which is the usual default.
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

/// A parser of the text of a POSIX time zone, which reads from the first character to the last.
private struct PosixTimeZoneText {
    private var rest: ArraySlice<UInt8>

    init(_ text: some Collection<UInt8>) {
        rest = ArraySlice(text)
    }

    var isAtEnd: Bool { rest.isEmpty }

    /// Skips a character. Returns false if another one comes next.
    mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    /// Skips a zone's short name: letters, or any text in angle brackets. Returns false if there is none.
    mutating func skipName() -> Bool {
        if skip("<") {
            rest = rest.drop { $0 != UInt8(ascii: ">") }
            return skip(">")
        }
        let behind = rest.drop { UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20 }
        defer { rest = behind }
        return rest.count - behind.count >= 3
    }

    /// Reads an offset, in seconds west of UTC, of at most a day.
    mutating func offset() -> Int? {
        time(mostHours: 24)
    }

    /// Reads a day and time, like `M3.5.0/2`, `J60` or `59/-1:30`.
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

    /// Reads `[+|-]hours[:minutes[:seconds]]`. Returns seconds.
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
