import Testing

@testable import HeadgateConsole

/// Tests the activity of the last 15 minutes.
@Suite("History")
struct HistoryTests {
    private func sample(_ received: Int, delivered: Int = 0, backlog: Int = 0, sent: Int = 0) -> History.Sample {
        History.Sample(received: received, delivered: delivered, backlog: backlog, sent: ["web": sent])
    }

    @Test("Rates are the growth between two readings, per second")
    func rates() {
        var history = History()
        history.take(sample(100, delivered: 50, sent: 50), at: 1_000)
        #expect(history.latest == nil)
        history.take(sample(120, delivered: 56, backlog: 9, sent: 58), at: 1_002)
        #expect(history.latest?.received == 10 && history.latest?.delivered == 3 && history.latest?.backlog == 9)
        #expect(history.latest?.sent == ["web": 4])
    }

    @Test("A quarter of an hour is kept, the oldest first, and older values are forgotten")
    func ring() {
        var history = History()
        let samples = History.length + 100
        for number in 0...samples { history.take(sample(number * number), at: Double(number) * History.interval) }
        let steps = history.steps(at: Double(samples) * History.interval)
        #expect(steps.count == History.length && steps.allSatisfy { $0 != nil })
        let expected = (samples - History.length + 1...samples).map { Double(2 * $0 - 1) / History.interval }
        #expect(steps.map { $0?.received } == expected)
    }

    @Test("A missing reading is a gap, and rates start again after it")
    func gaps() {
        var history = History()
        for time in [0.0, 2, 4, 60, 62] { history.take(sample(Int(time)), at: time) }
        let steps = history.steps(at: 62)
        #expect(
            steps.suffix(32).map { $0 != nil } == [false, true, true] + Array(repeating: false, count: 28) + [true])
    }

    @Test("After a restart of the daemon no rate spans the restart")
    func restart() {
        var history = History()
        history.take(sample(1_000), at: 0)
        history.take(sample(3), at: 2)
        #expect(history.latest == nil)
        history.take(sample(5), at: 4)
        #expect(history.latest?.received == 1)
    }

    @Test("A late reading fills the steps since the last one")
    func late() {
        var history = History()
        history.take(sample(0), at: 0)
        history.take(sample(60), at: 6)
        #expect(history.steps(at: 6).suffix(3).map { $0?.received } == [10, 10, 10])
    }

    @Test("The line ends at the last finished step")
    func present() {
        var history = History()
        for time in [0.0, 2, 4] { history.take(sample(Int(time)), at: time) }
        #expect(history.steps(at: 6).last??.received == 1)
        #expect(history.steps(at: 12).last == .some(nil))
    }

    @Test("Quantiles are of the values between two readings")
    func quantiles() throws {
        func sample(_ counts: [Double]) -> History.Sample {
            var sample = self.sample(0)
            sample.acknowledged = Histogram(bounds: [0.001, 0.01], counts: counts)
            return sample
        }
        var history = History()
        history.take(sample([1_000, 1_000, 1_000]), at: 0)
        history.take(sample([1_000, 1_010, 1_010]), at: 2)
        let times = try #require(history.latest?.acknowledged)
        #expect(times.half > 0.001 && times.half < 0.01 && times.most > times.half)
        history.take(sample([1_000, 1_010, 1_010]), at: 4)
        #expect(history.latest?.acknowledged == nil)
    }
}
