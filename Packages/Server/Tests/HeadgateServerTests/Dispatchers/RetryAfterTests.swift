import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("Retry-After")
struct RetryAfterTests {
    /// The date of RFC 9110's examples: Sun, 06 Nov 1994 08:49:37 GMT.
    private let moment = Timestamp(milliseconds: 784_111_777_000)

    private func wait(_ header: String, secondsBefore: Int64 = 90) -> Duration? {
        RetryAfter.wait(header, at: Timestamp(milliseconds: moment.milliseconds - secondsBefore * 1000))
    }

    @Test("D5: a number of seconds is a wait of that length", arguments: [("0", 0), ("120", 120), ("007", 7)])
    func seconds(header: String, expected: Int) {
        #expect(wait(header) == .seconds(expected))
    }

    @Test("D5: a number of seconds beyond the range of an integer is a long wait")
    func endlessSeconds() throws {
        #expect(try #require(wait(String(repeating: "9", count: 40))) > .seconds(3600))
    }

    @Test(
        "D5: all three forms of an HTTP date are read",
        arguments: [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        ])
    func dates(header: String) {
        #expect(wait(header) == .seconds(90))
    }

    @Test(
        "D5: a date in the past requests no wait",
        arguments: [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        ])
    func pastDates(header: String) {
        #expect(wait(header, secondsBefore: -1) == .zero)
    }

    @Test("D5: a date beyond the range of the clock is a long wait")
    func endlessDate() throws {
        #expect(try #require(wait("Sun, 06 Nov 2147483647 08:49:37 GMT")) > .seconds(3600))
    }

    @Test(
        "D5: any other text is ignored",
        arguments: [
            "", "soon", "-5", "+5", "1.5", "1e3", "5 s", "3 seconds", "٣", "Sun, 06 Foo 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 25:49:37 GMT", "Sun, x Nov 1994 08:49:37 GMT", "a b c d e", "1 2 3 4 5 GMT",
            "Fri, 99 Foo 2031", "2030-01-01T00:00:00Z",
        ])
    func garbage(header: String) {
        #expect(wait(header) == nil)
    }
}
