import HeadgateSeeds
import Testing

@Suite("Random runs compared with a model")
struct GateModelTests {
    private static let steps = 40

    @Test("B1, B2, B6, F1–F4, P1, Q2–Q5, Q7, D1–D9, D13: the rules hold in any history", arguments: ModelProfile.all)
    func rulesHold(profile: ModelProfile) {
        for seed in Seeds.first(20) {
            do {
                try GateRun(profile: profile, seed: seed).run(steps: GateModelTests.steps)
            } catch {
                Issue.record("profile \(profile.name), \(seed): \(error)")
                return
            }
        }
    }
}
