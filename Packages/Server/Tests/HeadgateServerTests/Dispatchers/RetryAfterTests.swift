import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("Retry-After")
struct RetryAfterTests {
    /// Sun, 06 Nov 1994 08:49:37 GMT, the date in RFC 9110's examples.
    private let moment = Timestamp(milliseconds: 784_111_777_000)

    private func wait(_ header: String, secondsBefore: Int64 = 90) -> Duration? {
        RetryAfter.wait(header, at: Timestamp(milliseconds: moment.milliseconds - secondsBefore * 1000))
    }

    @Test("D5: seconds", arguments: [("0", 0), ("120", 120), ("007", 7)])
    func seconds(header: String, expected: Int) {
        #expect(wait(header) == .seconds(expected))
    }

    @Test("D5: more seconds than can be counted are a long wait, and have no other effect")
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

    @Test("D5: a date beyond the range of the clock is a long wait, and has no other effect")
    func endlessDate() throws {
        #expect(try #require(wait("Sun, 06 Nov 2147483647 08:49:37 GMT")) > .seconds(3600))
    }

    @Test(
        "D5: anything else is ignored",
        arguments: [
            "", "soon", "-5", "+5", "1.5", "1e3", "5 s", "3 seconds", "٣", "Sun, 06 Foo 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 25:49:37 GMT", "Sun, x Nov 1994 08:49:37 GMT", "a b c d e", "1 2 3 4 5 GMT",
            "Fri, 99 Foo 2031", "2030-01-01T00:00:00Z",
        ])
    func garbage(header: String) {
        #expect(wait(header) == nil)
    }
}
