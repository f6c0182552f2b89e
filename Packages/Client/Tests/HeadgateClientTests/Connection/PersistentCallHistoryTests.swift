import HeadgateSeeds
import HeadgateWire
import Testing

@testable import HeadgateClient

/// Tests persistent calls in any history of losses, refusals and changes.
@Suite struct PersistentCallHistoryTests {
    /// A machine and a daemon, with the lines of the calls that the daemon has granted on the present connection.
    private struct Stage {
        var scene = MachineScene { $0.backoffCap = .seconds(1) }
        var written: [(number: CallNumber, text: String)] = []
        var granted: [CallNumber: String] = [:]
        /// The present request of each call.
        var expected: [CallNumber: String] = [:]

        /// Carries out the machine's orders, and the orders that follow from them, as a socket would.
        mutating func follow() {
            var orders = scene.takeOrders()
            while !orders.isEmpty {
                for order in orders { carryOut(order) }
                orders = scene.takeOrders()
            }
        }

        private mutating func carryOut(_ order: String) {
            switch order {
            case "connect": scene.apply { $0.connected(now: $1) }
            case "greet": scene.apply { $0.greeted(DaemonLimits(), now: $1) }
            case "disconnect", "leave": (written, granted) = ([], [:])
            case let line where line.hasPrefix("stand"): take(line)
            default: return
            }
        }

        private mutating func take(_ line: String) {
            let number = CallNumber(line.dropFirst(5).prefix { $0.isNumber }) ?? 0
            written.append((number, line))
        }

        mutating func stand() {
            let number = scene.call("stand", persistent: true)
            expected[number] = "stand\(number)"
        }

        mutating func change(_ number: CallNumber, by step: Int) {
            expected[number] = "stand\(number) \(step)"
            let line = Array("stand\(number) \(step)\n".utf8)
            scene.apply { machine, _ in machine.changed(number, to: line) }
            // Another call reports the change to the daemon on this connection.
            if granted[number] != nil { granted[number] = expected[number] }
            written = written.map { $0.number == number ? (number, expected[number] ?? "") : $0 }
        }

        mutating func answer(refusing reason: ErrorReason?) {
            guard !written.isEmpty else { return }
            let (number, text) = written.removeFirst()
            let wasGranted = scene.machine.calls[number]?.wasGranted == true
            guard let reason, wasGranted else {
                granted[number] = text
                return scene.answer(number)
            }
            scene.refuse(number, RPCError(reason))
        }

        mutating func cancel(_ number: CallNumber) {
            expected[number] = nil
            granted[number] = nil
            written.removeAll { $0.number == number }
            scene.apply { $0.cancelled(number, now: $1) }
        }

        mutating func lose() {
            guard scene.machine.phase == .open || scene.machine.phase == .draining else { return }
            (written, granted) = ([], [:])
            scene.lose()
        }
    }

    @Test(
        "B29: in the end the daemon has granted the persistent calls in their latest form, and no others",
        arguments: Seeds.first(100))
    func history(seed: Seed) {
        var dice = SeededRandom(seed: seed)
        var stage = Stage()
        for step in 1...200 {
            let number = stage.expected.keys.sorted().randomElement(using: &dice)
            switch Int.random(in: 0..<12, using: &dice) {
            case 0...1: stage.stand()
            case 2: if let number { stage.change(number, by: step) }
            case 3: if let number { stage.cancel(number) }
            case 4: stage.lose()
            case 5 where stage.scene.machine.phase == .open: stage.scene.apply { $0.closing(now: $1) }
            case 6...9: stage.answer(refusing: [.conflict, .notFound, nil].randomElement(using: &dice) ?? nil)
            default: stage.scene.passTime()
            }
            stage.follow()
        }
        for _ in 1...1_000 where stage.granted != stage.expected {
            if stage.written.isEmpty { stage.scene.passTime() } else { stage.answer(refusing: nil) }
            stage.follow()
        }
        #expect(stage.granted == stage.expected)
        #expect(stage.scene.machine.unanswered == (0, 0))
        #expect(stage.scene.machine.heldBytes == stage.expected.values.reduce(0) { $0 + $1.utf8.count + 1 })
    }
}
