import Testing

@testable import HeadgateServer

/// When a disk is quick enough to be waited for in place.
@Suite struct DiskPaceTests {
    private func after(quick: Int, then pace: DiskPace = DiskPace()) -> DiskPace {
        var pace = pace
        for _ in 0..<quick { pace.answered(after: .microseconds(200)) }
        return pace
    }

    @Test("A disk is quick once it has answered quickly eight times in a row")
    func begins() {
        #expect(!after(quick: 7).isQuick)
        #expect(after(quick: 8).isQuick)
    }

    @Test("A slow answer ends that, and the next stretch has to be twice as long each time, up to a bound")
    func slow() {
        var pace = after(quick: 8)
        pace.answered(after: .milliseconds(2))
        #expect(!pace.isQuick)
        #expect(!after(quick: 15, then: pace).isQuick)
        #expect(after(quick: 16, then: pace).isQuick)
        for _ in 0..<100 { pace.answered(after: .seconds(1)) }
        #expect(!after(quick: 1_023, then: pace).isQuick)
        #expect(after(quick: 1_024, then: pace).isQuick)
    }

    @Test("After many quick answers the slow ones are forgotten")
    func forgiven() {
        var pace = DiskPace()
        for _ in 0..<100 { pace.answered(after: .seconds(1)) }
        pace = after(quick: 16_384, then: pace)
        pace.answered(after: .seconds(1))
        #expect(after(quick: 16, then: pace).isQuick)
    }
}
