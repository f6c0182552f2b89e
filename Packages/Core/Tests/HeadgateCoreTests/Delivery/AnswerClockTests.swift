import Testing

@testable import HeadgateCore

@Suite("The clock of max_retry_age")
struct AnswerClockTests {
    @Test("D9: each moment of attempts and waits counts once, as in a simple model")
    func model() throws {
        for seed: UInt64 in 1...300 {
            var random = SeededRandom(seed: seed)
            var clock = AnswerClock()
            var answered: Set<Int64> = []
            // A later call never adds time before `through`, the end of the last recorded interval.
            var (now, through): (Int64, Int64) = (100, 0)
            for _ in 0..<60 {
                now += Int64.random(in: 0...20, using: &random)
                let start = now - Int64.random(in: 0...30, using: &random)
                let end = now + (random.oneIn(2) ? Int64.random(in: 0...40, using: &random) : 0)
                clock.answering(from: Instant(nanoseconds: start), to: Instant(nanoseconds: end))
                answered.formUnion(max(start, through)..<max(start, through, end))
                through = max(through, end)
                let count = answered.count { $0 < now }
                try #require(clock.time(at: Instant(nanoseconds: now)) == .nanoseconds(count), "seed \(seed)")
            }
        }
    }
}
