import Testing

@testable import HeadgateTransport

/// Clients that send the next request after some microseconds, while the loop polls or sleeps.
@Suite("Polling before sleeping") struct BusyPollTests {
    /// The number of waits by their result.
    private struct Waits {
        var found = 0
        var inVain = 0
        var slept = 0
    }

    /// The time in nanoseconds that it takes to fall asleep and wake up.
    private static let waking: Int64 = 30_000

    private func waits(_ pauses: some Sequence<Int64>, _ poll: inout BusyPoll) -> Waits {
        var waits = Waits()
        for pause in pauses {
            var passed: Int64 = 0
            if poll.polls() {
                let isFound = pause <= BusyPoll.longest
                poll.polled(isFound: isFound)
                if isFound {
                    waits.found += 1
                    continue
                }
                waits.inVain += 1
                passed = BusyPoll.longest
            }
            waits.slept += 1
            poll.slept(for: max(pause, passed) + BusyPollTests.waking)
        }
        return waits
    }

    @Test("a loop that only had long sleeps continues to sleep")
    func rareClient() {
        var poll = BusyPoll()
        let waits = waits(repeatElement(1_000_000, count: 10_000), &poll)
        #expect(waits.found + waits.inVain == 0)
    }

    @Test("if the next request comes at once, the loop polls from the second time on")
    func quickClient() {
        var poll = BusyPoll()
        let waits = waits(repeatElement(8_000, count: 10_000), &poll)
        #expect(waits.found == 9_999 && waits.slept == 1)
    }

    @Test("if the next request comes shortly after the poll, the loop polls less and less often")
    func almostQuickClient() {
        var poll = BusyPoll()
        let waits = waits(repeatElement(40_000, count: 100_000), &poll)
        #expect(waits.found == 0 && (1...120).contains(waits.inVain), "\(waits)")
    }

    @Test("after long useless polling the loop finds within a thousand waits that polling is useful again")
    func becomesQuick() {
        var poll = BusyPoll()
        _ = waits(repeatElement(40_000, count: 100_000), &poll)
        let waits = waits(repeatElement(8_000, count: 2_000), &poll)
        #expect(waits.found >= 900, "\(waits)")
    }

    @Test("one long pause does not stop the polling, and costs one useless poll")
    func oneLongPause() {
        var poll = BusyPoll()
        _ = waits(repeatElement(8_000, count: 10), &poll)
        let pauses: [Int64] = [5_000_000] + Array(repeating: 8_000, count: 100)
        let after = waits(pauses, &poll)
        #expect(after.inVain == 1 && after.found >= 95, "\(after)")
    }
}
