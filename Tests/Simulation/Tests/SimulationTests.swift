import HeadgateSeeds
import Testing

@Suite("The simulation of a whole service")
struct SimulationTests {
    /// How many histories a usual run has: enough for every situation.
    private static let usual = 120

    @Test("P1, Q3, Q5, Q7, D3–D9, B1, B23, F1, X2: whatever happens, the promises hold, and everything happens")
    func promisesHold() {
        let seeds = Seeds.first(SimulationTests.usual)
        var coverage = Coverage()
        for seed in seeds {
            let outcome = Outcome(of: seed)
            guard outcome.violation == nil else {
                Issue.record("\(outcome.told(lines: 40))")
                return
            }
            coverage.add(outcome.record)
        }
        guard seeds.count >= SimulationTests.usual else { return }
        #expect(coverage.missing == [], "what never happened is not tried")
    }

    @Test("The same seed is the same history")
    func repeatable() {
        for seed in Seeds.first(2).prefix(10) {
            let (one, other) = (Outcome(of: seed).record, Outcome(of: seed).record)
            let apart = zip(one.trace, other.trace).first { $0 != $1 }
            #expect(one.hash == other.hash, "\(seed) parts here: \(String(describing: apart))")
        }
    }
}
