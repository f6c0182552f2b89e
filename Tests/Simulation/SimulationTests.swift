import Glibc
import HeadgateSeeds
import Testing

@Suite("The simulation of a whole service")
struct SimulationTests {
    /// How many histories a usual run has: enough for every situation.
    private static let usual = 40
    private static let steps = 250

    @Test("P1, Q5, Q7, D3–D9, B1, F1, X2: whatever happens, the promises hold, and everything happens")
    func promisesHold() {
        let seeds = Seeds.first(SimulationTests.usual)
        var counts: [Situation: Int] = [:]
        for seed in seeds {
            guard let record = run(seed) else { return }
            counts.merge(record.counts, uniquingKeysWith: +)
        }
        if getenv("HEADGATE_SEEDS") != nil { tell(counts, of: seeds.count) }
        guard seeds.count >= SimulationTests.usual else { return }
        #expect(Situation.allCases.filter { counts[$0, default: 0] == 0 } == [], "what never happened is not tried")
    }

    @Test("The same seed is the same history")
    func repeatable() throws {
        for seed in Seeds.first(2).prefix(10) {
            let (one, other) = (try #require(run(seed)), try #require(run(seed)))
            let apart = zip(one.trace, other.trace).first { $0 != $1 }
            #expect(one.hash == other.hash, "\(seed) parts here: \(String(describing: apart))")
        }
    }

    /// - Returns: nil when something was wrong.
    private func run(_ seed: Seed) -> Record? {
        var record: Record?
        do {
            let history = try History(seed: seed)
            record = history.record
            try history.run(steps: SimulationTests.steps)
            return record
        } catch {
            let last = record?.trace.suffix(25).joined(separator: "\n") ?? ""
            Issue.record("\(seed): \(error)\n\(last)")
            return nil
        }
    }

    private func tell(_ counts: [Situation: Int], of histories: Int) {
        print("\(histories) histories held; how often each situation came about:")
        for situation in Situation.allCases { print("  \(situation.rawValue): \(counts[situation, default: 0])") }
    }
}
