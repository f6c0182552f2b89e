import Testing

@Suite("Random activations")
struct ActivationModelTests {
    @Test("A1–A8: each ends once, none is run before its barriers, no cycle lives for ever, nothing is left")
    func rulesHold() {
        for seed: UInt64 in 1...1500 {
            var run = ActivationRun(seed: seed)
            do {
                try run.run(steps: 80)
            } catch {
                Issue.record("seed \(seed): \(error)")
                return
            }
        }
    }
}
