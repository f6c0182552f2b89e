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

    @Test("a loop that has only ever slept for long goes on sleeping")
    func rareClient() {
        var poll = BusyPoll()
        let waits = waits(repeatElement(1_000_000, count: 10_000), &poll)
        #expect(waits.found + waits.inVain == 0)
    }

    @Test("who asks again at once is polled for, from the second time on")
    func quickClient() {
        var poll = BusyPoll()
        let waits = waits(repeatElement(8_000, count: 10_000), &poll)
        #expect(waits.found == 9_999 && waits.slept == 1)
    }

    @Test("who asks again a little later than one polls is polled for ever more rarely")
    func almostQuickClient() {
        var poll = BusyPoll()
        let waits = waits(repeatElement(40_000, count: 100_000), &poll)
        #expect(waits.found == 0 && (1...120).contains(waits.inVain), "\(waits)")
    }

    @Test("what was in vain for long is found out to be worth while again within a thousand waits")
    func becomesQuick() {
        var poll = BusyPoll()
        _ = waits(repeatElement(40_000, count: 100_000), &poll)
        let waits = waits(repeatElement(8_000, count: 2_000), &poll)
        #expect(waits.found >= 900, "\(waits)")
    }

    @Test("one long pause does not end it, and costs polling once")
    func oneLongPause() {
        var poll = BusyPoll()
        _ = waits(repeatElement(8_000, count: 10), &poll)
        let pauses: [Int64] = [5_000_000] + Array(repeating: 8_000, count: 100)
        let after = waits(pauses, &poll)
        #expect(after.inVain == 1 && after.found >= 95, "\(after)")
    }
}
