import Foundation
import Testing

@testable import HeadgateData

@Suite("Times")
struct TimestampTests {
    @Test(
        "Protocol: all forms of RFC 3339 are parsed",
        arguments: [
            ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000Z"),
            ("2026-11-20T09:41:55.123Z", "2026-11-20T09:41:55.123Z"),
            ("2026-11-20t09:41:55.1z", "2026-11-20T09:41:55.100Z"),
            ("2026-11-20T09:41:55.1239999999999999999999Z", "2026-11-20T09:41:55.123Z"),
            ("2026-11-20T09:41:55+01:00", "2026-11-20T08:41:55.000Z"),
            ("2026-01-01T00:30:00.5+05:45", "2025-12-31T18:45:00.500Z"),
            ("2025-12-31T23:30:00-23:59", "2026-01-01T23:29:00.000Z"),
            ("2026-11-20T09:41:55-00:00", "2026-11-20T09:41:55.000Z"),
            ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000Z"), ("2024-02-29T12:00:00Z", "2024-02-29T12:00:00.000Z"),
            ("2000-02-29T00:00:00Z", "2000-02-29T00:00:00.000Z"),
            ("1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z"),
            ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00.000Z"),
            ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
        ])
    func reads(text: String, reported: String) throws {
        #expect(try #require(Timestamp(rfc3339: text)).text == reported)
    }

    @Test(
        "Protocol: other text is rejected as a time",
        arguments: [
            "", "Z", "2026-11-20", "2026-11-20T09:41:55", "2026-11-20 09:41:55Z", "2026-11-20T09:41Z",
            "2026-11-20T09:41:55.Z", "2026-11-20T09:41:55,5Z",
            "2026-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z",
            "2026-01-00T00:00:00Z", "2026-04-31T00:00:00Z",
            "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z", "2026-01-01T00:00:61Z", "2026-01-01T00:00:00+24:00",
            "2026-01-01T00:00:00+00:60",
            "2026-01-01T00:00:00+0100", "2026-01-01T00:00:00Zx", " 2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z ",
            "+2026-01-01T00:00:00Z", "26-01-01T00:00:00Z",
            "2026-1-01T00:00:00Z", "2026-01-01T0:00:00Z", "20２6-01-01T00:00:00Z", "0000-01-01T00:00:00+00:01",
            "9999-12-31T23:59:59-00:01", "9999-12-31T23:59:60Z",
        ])
    func refuses(text: String) {
        #expect(Timestamp(rfc3339: text) == nil)
    }

    @Test("Every day of 800 years agrees with Foundation")
    func matchesCalendar() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(secondsFromGMT: 0))
        for days in stride(from: -141_000, to: 151_000, by: 13) {
            let date = CivilDate(daysSince1970: days)
            let parts = calendar.dateComponents(
                [.year, .month, .day, .weekday], from: Date(timeIntervalSince1970: Double(days) * 86_400))
            #expect(date.year == parts.year && date.month == parts.month && date.day == parts.day)
            #expect(date.daysSince1970 == days)
            #expect((date.weekday + 1) % 7 + 1 == parts.weekday)
            #expect(CivilDate(year: date.year, month: date.month, day: date.day) == date)
        }
    }

    @Test("A formatted timestamp parses to the same moment")
    func roundTrips() throws {
        for milliseconds in stride(from: Int64(-62_167_219_200_000), to: 253_402_300_799_999, by: 98_765_432_101) {
            let moment = Timestamp(milliseconds: milliseconds)
            #expect(Timestamp(rfc3339: moment.text) == moment)
        }
    }

    @Test("Moments beyond the representable years are formatted as the nearest one")
    func clamps() {
        #expect(Timestamp(milliseconds: .max).text == "9999-12-31T23:59:59.999Z")
        #expect(Timestamp(milliseconds: .min).text == "0000-01-01T00:00:00.000Z")
    }

    @Test("In JSON a time is a string")
    func writes() {
        var writer = JSONWriter()
        writer.timestamp(Timestamp(milliseconds: 1_795_167_715_007))
        #expect(writer.text == #""2026-11-20T09:41:55.007Z""#)
    }

    @Test("An earlier time is less than a later one")
    func compares() {
        #expect(Timestamp(milliseconds: -1) < Timestamp(milliseconds: 0))
    }
}
