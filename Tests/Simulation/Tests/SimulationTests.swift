import HeadgateSeeds
import Testing

@Suite("The simulation of a whole service")
struct SimulationTests {
    /// The number of histories in a test run. `Tools/simulate` runs as many as requested, and checks that every
    /// situation occurs.
    private static let defaultCount = 30

    @Test(
        "P1, P3, P4, P7, Q3, Q4, Q5, Q7, Q8, Q11, D3–D10, D12, A9, B1, B23, F1, S1–S3, X2, O1, R1–R3, R5, E1, E2, C1, C2: the promises hold in any history"
    )
    func promisesHold() {
        for seed in Seeds.first(SimulationTests.defaultCount) {
            let outcome = Outcome(of: seed)
            guard outcome.violation == nil else {
                Issue.record("\(outcome.report(lines: 40))")
                return
            }
        }
    }

    @Test("Q1, Q3, Q5, Q7, Q8, D10: whatever its disk does, a store has exactly the acknowledged contents")
    func storesHold() {
        for seed in Seeds.first(SimulationTests.defaultCount * 3) {
            let outcome = Outcome(ofStore: seed)
            guard outcome.violation == nil else {
                Issue.record("\(outcome.report(lines: 40))")
                return
            }
        }
    }

    @Test("The same seed gives the same history")
    func repeatable() {
        for seed in Seeds.first(2).prefix(10) {
            for (one, other) in zip(Outcome(of: seed).records, Outcome(of: seed).records) {
                let apart = zip(one.trace, other.trace).first { $0 != $1 }
                #expect(one.hash == other.hash, "\(seed) parts here: \(String(describing: apart))")
            }
        }
    }
}
