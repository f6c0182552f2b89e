import HeadgateSeeds
import Testing

@Suite("Random activations")
struct ActivationModelTests {
    @Test("A1–A8: each ends once, none is run before its barriers, no cycle lives for ever, nothing is left")
    func rulesHold() {
        for seed in Seeds.first(400) {
            var run = ActivationRun(seed: seed)
            do {
                try run.run(steps: 80)
            } catch {
                Issue.record("\(seed): \(error)")
                return
            }
        }
    }
}
