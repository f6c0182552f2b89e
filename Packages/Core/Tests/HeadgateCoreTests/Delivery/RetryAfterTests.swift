import HeadgateData
import Testing

@testable import HeadgateCore

@Suite("Retry-After")
struct RetryAfterTests {
    /// Sun, 06 Nov 1994 08:49:37 GMT, the date of RFC 9110's examples.
    private let moment = Timestamp(milliseconds: 784_111_777_000)

    private func wait(_ header: String, secondsBefore: Int64 = 90) -> Duration? {
        RetryAfter.duration(header, now: Timestamp(milliseconds: moment.milliseconds - secondsBefore * 1000))
    }

    @Test("D5: seconds", arguments: [("0", 0), ("120", 120), (" 7\t", 7), ("007", 7)])
    func seconds(header: String, expected: Int) {
        #expect(wait(header) == .seconds(expected))
    }

    @Test("D5: more seconds than can be counted are long, and do no harm")
    func endlessSeconds() throws {
        #expect(try #require(wait(String(repeating: "9", count: 40))) > .seconds(3600))
    }

    @Test(
        "D5: all three forms of an HTTP date",
        arguments: [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        ])
    func dates(header: String) {
        #expect(wait(header) == .seconds(90))
    }

    @Test(
        "D5: a date that is past asks for no wait",
        arguments: [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        ])
    func pastDates(header: String) {
        #expect(wait(header, secondsBefore: -1) == .zero)
    }

    @Test("D5: a year of two digits is one between 1970 and 2069")
    func twoDigits() {
        let now = Timestamp(milliseconds: 0)
        #expect(RetryAfter.duration("Thursday, 01-Jan-70 00:01:00 GMT", now: now) == .seconds(60))
        let later = Timestamp(rfc3339: "2069-12-31T23:59:00Z") ?? now
        #expect(RetryAfter.duration("Tuesday, 31-Dec-69 23:59:59 GMT", now: later) == .seconds(59))
    }

    @Test(
        "D5: anything else is ignored",
        arguments: [
            "", " ", "soon", "-5", "+5", "1.5", "1e3", "5 s", "٣", "Sun, 06 Nov 1994 08:49:37 CET",
            "Sun, 06 Foo 1994 08:49:37 GMT",
            "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 Nov 1994 25:49:37 GMT", "Sun, 06 Nov 99999 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49 GMT", "Sun, x Nov 1994 08:49:37 GMT", "a b c d e", "1 2 3 4 5 GMT",
            "2030-01-01T00:00:00Z",
        ])
    func garbage(header: String) {
        #expect(wait(header) == nil)
    }
}
