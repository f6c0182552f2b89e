import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("POSIX time zones")
struct PosixTimeZoneTests {
    private func changes(_ text: String, year: Int) throws -> [String] {
        let zone = try #require(PosixTimeZone(text.utf8))
        let start = Int64(try #require(CivilDate(year: year, month: 1, day: 1)).daysSince1970) * 86_400
        let hours = Array(stride(from: start, through: start + 366 * 86_400, by: 3600))
        let changed = zip(hours, hours.dropFirst()).filter { zone.offset(at: $0) != zone.offset(at: $1) }
        // No hour has two changes, so the minutes of other hours need no check.
        return changed.flatMap { before, after in
            stride(from: before + 60, through: after, by: 60)
                .filter { zone.offset(at: $0 - 60) != zone.offset(at: $0) }
                .map { "\(Timestamp(milliseconds: $0 * 1000).text.prefix(16)) \(zone.offset(at: $0))" }
        }
    }

    @Test(
        "B24: daylight-saving time by rule",
        arguments: [
            ("CET-1CEST,M3.5.0,M10.5.0/3", ["2026-03-29T01:00 7200", "2026-10-25T01:00 3600"]),
            ("EST5EDT,M3.2.0,M11.1.0", ["2026-03-08T07:00 -14400", "2026-11-01T06:00 -18000"]),
            ("EST5EDT", ["2026-03-08T07:00 -14400", "2026-11-01T06:00 -18000"]),
            ("AEST-10AEDT,M10.1.0,M4.1.0/3", ["2026-04-04T16:00 36000", "2026-10-03T16:00 39600"]),
            ("IST-1GMT0,M10.5.0,M3.5.0/1", ["2026-03-29T01:00 3600", "2026-10-25T01:00 0"]),
            ("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", ["2026-04-04T15:00 37800", "2026-10-03T15:30 39600"]),
            ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", ["2026-03-29T01:00 -3600", "2026-10-25T01:00 -7200"]),
            ("UTC0", []),
        ])
    func rules(text: String, expected: [String]) throws {
        #expect(try changes(text, year: 2026) == expected)
    }

    @Test("B24: J60 is the first of March in every year; 59 is the 60th day, in a leap year the 29th of February")
    func commonYearAndLeapYear() {
        #expect(YearlyMoment(day: .ofCommonYear(60), time: 0).seconds(in: 2026) == 1_772_323_200)
        #expect(YearlyMoment(day: .ofCommonYear(60), time: 0).seconds(in: 2028) == 1_835_481_600)
        #expect(YearlyMoment(day: .ofYear(59), time: 0).seconds(in: 2026) == 1_772_323_200)
        #expect(YearlyMoment(day: .ofYear(59), time: 0).seconds(in: 2028) == 1_835_395_200)
        #expect(YearlyMoment(day: .ofCommonYear(1), time: 0).seconds(in: 2028) == 1_830_297_600)
    }

    @Test("B24: daylight-saving time that lasts all year")
    func allYear() throws {
        let zone = try #require(PosixTimeZone("XXX3EDT4,0/0,J365/23".utf8))
        let hours = stride(from: Int64(1_767_225_600), to: 1_767_225_600 + 800 * 86_400, by: 3600)
        #expect(Set(hours.map(zone.offset)) == [-14_400])
    }

    @Test(
        "B24: an invalid time zone is refused",
        arguments: [
            "", "CET", "CE-1", "-1", "CET-25", "CET-1:60", "CET-1CEST,", "CET-1CEST,M3.5.0", "CET-1CEST,M0.5.0,M10.5.0",
            "CET-1CEST,M3.6.0,M10.5.0", "CET-1CEST,M3.5.7,M10.5.0", "CET-1CEST,J0,J365", "CET-1CEST,0,366",
            "CET-1CEST,M3.5.0/168,M10.5.0", "CET-1CEST,M3.5.0,M10.5.0x", "<CET-1", "CET-1CEST,M3.5.0,M10.5.0/3 ",
            "CET-99999999999999999999",
        ])
    func refused(text: String) {
        #expect(PosixTimeZone(text.utf8) == nil)
    }
}
