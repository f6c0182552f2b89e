import HeadgateCore
import HeadgateData
import HeadgateSeeds
import Testing

@testable import HeadgateServer

@Suite("Bursts of log lines") struct LogBurstsTests {
    private func second(_ number: Double) -> Instant { Instant(nanoseconds: Int64(number * 1_000_000_000)) }

    private func refused(_ events: Int, _ reason: String = "queue_full") -> LogLine {
        LogLine(.eventsRefused, ["events": .number(DataNumber(events)), "reason": .string(reason)])
    }

    /// Adds lines at one moment. Returns for each line true if it is logged at once.
    private func take(_ lines: [LogLine], at moment: Double, in bursts: inout LogBursts) -> [Bool] {
        lines.map { bursts.take($0, at: second(moment)) }
    }

    @Test("O4: the first line is logged at once; later ones are combined, with their number and sum of events")
    func burst() {
        var bursts = LogBursts()
        var reported = take([refused(1)], at: 0, in: &bursts)
        #expect(reported == [true] && bursts.nextDeadline == nil)
        reported = take([refused(2), refused(2), refused(2)], at: 1, in: &bursts)
        #expect(reported == [false, false, false])
        #expect(bursts.nextDeadline == second(10))
        #expect(bursts.timePassed(to: second(9)).isEmpty)
        let lines = bursts.timePassed(to: second(10))
        #expect(lines.map(\.text) == ["6 events refused: queue_full (3 times in 10 s)"])
        #expect(bursts.nextDeadline == nil)
    }

    @Test("O4: a later single line is logged at once again; during a burst lines are combined")
    func later() {
        var bursts = LogBursts()
        let moments: [Double] = [0, 11, 12]
        let reported = moments.flatMap { take([refused(1)], at: $0, in: &bursts) }
        #expect(reported == [true, true, false])
        #expect(bursts.timePassed(to: second(21)).map(\.times) == [1])
        let more = take([refused(1)], at: 22, in: &bursts)
        #expect(more == [false] && bursts.timePassed(to: second(31)).count == 1)
        let last = take([refused(1)], at: 42, in: &bursts)
        #expect(last == [true])
    }

    @Test(
        "O4: a burst has the lines about one subject, also those with another cause; other subjects are logged at once")
    func others() {
        var bursts = LogBursts()
        let failures = ["a", "b"].map { LogLine(.barrierFailed, ["barrier": "x", "cause": .string($0)]) }
        let reported = take([refused(1), refused(1, "event_too_large")] + failures, at: 0, in: &bursts)
        #expect(reported == [true, true, true, false])
        #expect(bursts.end().map(\.text) == ["barrier x: b"])
    }

    @Test("O4: beyond the most bursts at once, lines are logged one by one and take no memory")
    func bounded() {
        var bursts = LogBursts()
        let many = take((0..<LogBursts.most).map { refused(1, "\($0)") }, at: 0, in: &bursts)
        #expect(many.allSatisfy { $0 })
        let more = take([refused(1, "more"), refused(1, "more")], at: 1, in: &bursts)
        #expect(more == [true, true])
        let later = take([refused(1, "later"), refused(1, "later")], at: 11, in: &bursts)
        #expect(later == [true, false])
    }

    @Test(
        "O4: of random lines, each event is logged once, at most 10 s later, and in few lines",
        arguments: Seeds.first(20))
    func model(_ seed: Seed) {
        var chance = SeededRandom(seed: seed)
        var bursts = LogBursts()
        var (now, offered, reported, lines) = (0.0, 0, 0, 0)
        var waiting: [Double] = []
        for _ in 0..<400 {
            now += Double.random(in: 0...2, using: &chance)
            while let due = bursts.nextDeadline, due <= second(now) {
                for line in bursts.timePassed(to: second(now)) {
                    reported += line.members.get(key: "events") ?? 0
                    lines += 1
                }
                waiting = []
            }
            let events = Int.random(in: 1...9, using: &chance)
            offered += events
            if bursts.take(refused(events), at: second(now)) {
                reported += events
                lines += 1
            } else {
                waiting.append(now)
            }
            #expect(waiting.first.map { now - $0 <= 10 } ?? true, "\(seed)")
        }
        for line in bursts.end() { reported += line.members.get(key: "events") ?? 0 }
        #expect(reported == offered, "\(seed)")
        #expect(lines <= 2 + Int(now / 10) * 2, "\(seed)")
    }
}
