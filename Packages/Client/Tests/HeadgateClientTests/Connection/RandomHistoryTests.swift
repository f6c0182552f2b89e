import HeadgateSeeds
import HeadgateWire
import Testing

@testable import HeadgateClient

/// Tests any history of answers and losses against a daemon that remembers ids.
@Suite struct RandomHistoryTests {
    @Test(
        "Q7: no call is lost, none is stored twice, and each caller is notified once",
        arguments: Seeds.first(100))
    func history(seed: Seed) {
        var dice = SeededRandom(seed: seed)
        var scene = MachineScene { $0.maxUnanswered = Int(1 + seed.number % 7) }
        var stored: [String] = []
        var unanswered: [CallNumber] = []
        for _ in 1...300 {
            switch Int.random(in: 0..<10, using: &dice) {
            case 0...3: scene.call()
            case 4...6 where !unanswered.isEmpty:
                scene.answer(unanswered.remove(at: Int.random(in: 0..<unanswered.count, using: &dice)))
            case 7 where scene.machine.phase == .open || scene.machine.phase == .draining: scene.lose()
            case 8 where scene.machine.phase == .open: scene.apply { $0.closing(now: $1) }
            default: scene.passTime()
            }
            follow(&scene, &stored, &unanswered)
        }
        finish(&scene, &stored, &unanswered)
        #expect(stored.count == Set(stored).count)
        #expect(stored == stored.sorted { Int($0.dropFirst()) ?? 0 < Int($1.dropFirst()) ?? 0 }, "out of order")
        #expect(Set(scene.results.map(\.call)).count == scene.results.count)
        #expect(scene.results.count == stored.count)
        #expect(scene.results.allSatisfy { $0.result == .success("fine") })
    }

    /// Carries out the machine's orders as a daemon and a socket would.
    private func follow(_ scene: inout MachineScene, _ stored: inout [String], _ unanswered: inout [CallNumber]) {
        for order in scene.takeOrders() {
            switch order {
            case "connect":
                unanswered = []
                scene.apply { $0.connected(now: $1) }
                follow(&scene, &stored, &unanswered)
            case "greet":
                scene.apply { $0.greeted(DaemonLimits(), now: $1) }
                follow(&scene, &stored, &unanswered)
            case "disconnect", "leave": unanswered = []
            case let line where line.hasPrefix("t"):
                if !stored.contains(line) { stored.append(line) }
                unanswered.append(CallNumber(line.dropFirst()) ?? 0)
            default: continue
            }
        }
        if scene.machine.phase != .open, scene.machine.phase != .draining { unanswered = [] }
    }

    /// Answers calls and advances the time until all calls have ended, or for 1000 steps.
    private func finish(_ scene: inout MachineScene, _ stored: inout [String], _ unanswered: inout [CallNumber]) {
        for _ in 1...1_000 where !scene.machine.calls.isEmpty {
            if unanswered.isEmpty { scene.passTime() } else { scene.answer(unanswered.removeFirst()) }
            follow(&scene, &stored, &unanswered)
        }
    }
}
