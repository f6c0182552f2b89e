import HeadgateSeeds
import Testing

@testable import HeadgateCore

@Suite("Histograms") struct HistogramTests {
    @Test("O1: times are reported in seconds, in buckets from 10 µs to 10 min")
    func scale() {
        let bounds = Histogram.Scale.seconds.scaledBounds
        #expect(bounds.first == "1e-05" && bounds.last == "600.0")
        #expect(zip(bounds, bounds.dropFirst()).allSatisfy { Double($0) ?? 0 < Double($1) ?? 0 })
    }

    @Test("O1: each value is counted in its own bucket and in all greater ones")
    func edges() {
        var histogram = Histogram(.events)
        for value: Int64 in [1, 2, 3, 10_000, 10_001] { histogram.record(value) }
        // The bounds are 1, 2, 5, 10, …, 10 000.
        #expect(histogram.cumulative.prefix(3) == [1, 2, 3])
        #expect(histogram.cumulative.last == 4)
        #expect(histogram.count == 5)
        #expect(histogram.scaledSum == 20_007)
    }

    @Test("O1: a value recorded with a count counts that many times")
    func many() {
        var histogram = Histogram(.seconds)
        histogram.record(.milliseconds(3), times: 4)
        histogram.record(.seconds(-1))
        #expect(histogram.count == 5)
        #expect(histogram.scaledSum == 0.012)
        #expect(histogram.cumulative.first == 1)
    }

    @Test("O1: random values are in the buckets that a linear search finds", arguments: Seeds.first(20))
    func model(_ seed: Seed) {
        var chance = SeededRandom(seed: seed)
        var histogram = Histogram(.seconds)
        let values = (0..<500).map { _ in
            Int64.random(in: 0...(1 << Int.random(in: 0...45, using: &chance)), using: &chance)
        }
        for value in values { histogram.record(value) }
        let expected = Histogram.Scale.seconds.bounds.map { bound in values.filter { $0 <= bound }.count }
        #expect(histogram.cumulative == expected, "\(seed)")
    }
}

@Suite("Arrivals") struct ArrivalsTests {
    private func moment(_ microseconds: Int64) -> Instant { Instant(nanoseconds: microseconds * 1_000) }

    @Test("O1: each event's wait starts with its turn, and events of one turn count together")
    func turns() {
        var arrivals = ArrivalTimes()
        for time: Int64 in [0, 0, 1, 100, 3_000] { arrivals.note(at: moment(time)) }
        var histogram = Histogram(.seconds)
        arrivals.acknowledged(at: moment(4_000), in: &histogram)
        #expect(histogram.count == 5)
        // Three events count with the arrival time of the first of them.
        #expect(histogram.sum == Double(3 * 4_000 + 3_900 + 1_000) * 1_000)
    }

    @Test("O1: a continuous stream needs one entry per 50 µs, and no event counts as later than it arrived")
    func stream() {
        var arrivals = ArrivalTimes()
        for time: Int64 in 0..<200 { arrivals.note(at: moment(time)) }
        var histogram = Histogram(.seconds)
        arrivals.acknowledged(at: moment(200), in: &histogram)
        #expect(histogram.count == 200)
        #expect(histogram.sum == Double(50 * (200 + 150 + 100 + 50)) * 1_000)
    }
}

@Suite("Closed time") struct ClosedTimeTests {
    private func second(_ number: Int64) -> Instant { Instant(nanoseconds: number * 1_000_000_000) }

    @Test("O1: all closed times count, including a running one, and a repeated state has no effect")
    func total() {
        var time = ClosedTime()
        #expect(time.total(at: second(5)) == .zero && !time.isClosed)
        time.set(closed: true, at: second(5))
        time.set(closed: true, at: second(6))
        #expect(time.total(at: second(8)) == .seconds(3) && time.isClosed)
        time.set(closed: false, at: second(9))
        time.set(closed: false, at: second(20))
        #expect(time.total(at: second(30)) == .seconds(4) && !time.isClosed)
        time.set(closed: true, at: second(30))
        #expect(time.total(at: second(31)) == .seconds(5))
        time.set(closed: false, at: second(32))
        #expect(time.total(at: second(40)) == .seconds(6))
    }
}
