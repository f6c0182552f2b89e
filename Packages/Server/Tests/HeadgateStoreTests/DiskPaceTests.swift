import Testing

@testable import HeadgateStore

/// Tests when a disk is quick enough for the loop's thread to wait for it.
@Suite struct DiskPaceTests {
    private func after(quick: Int, then pace: DiskPace = DiskPace()) -> DiskPace {
        var pace = pace
        for _ in 0..<quick { pace.answered(after: .microseconds(200)) }
        return pace
    }

    @Test("A disk is quick once it has answered quickly eight times")
    func begins() {
        #expect(!after(quick: 7).isQuick)
        #expect(after(quick: 8).isQuick)
    }

    @Test("A slow answer costs as much as a hundred quick ones save")
    func slow() {
        var pace = after(quick: 107)
        pace.answered(after: .milliseconds(2))
        #expect(!pace.isQuick)
        #expect(after(quick: 1, then: pace).isQuick)
        pace = after(quick: 108)
        pace.answered(after: .milliseconds(2))
        #expect(pace.isQuick)
    }

    @Test("A disk that hangs stops being quick at once, however long it was quick before")
    func hangs() {
        var pace = after(quick: 100_000)
        pace.answered(after: .milliseconds(5))
        #expect(!pace.isQuick)
        #expect(!after(quick: 107, then: pace).isQuick)
        #expect(after(quick: 108, then: pace).isQuick)
    }

    @Test("Old answers do not count")
    func bounds() {
        var pace = DiskPace()
        for _ in 0..<100_000 { pace.answered(after: .seconds(1)) }
        #expect(!after(quick: 1_007, then: pace).isQuick)
        #expect(after(quick: 1_008, then: pace).isQuick)
        pace = after(quick: 100_000)
        for _ in 0..<2 { pace.answered(after: .milliseconds(2)) }
        #expect(!pace.isQuick)
    }
}
