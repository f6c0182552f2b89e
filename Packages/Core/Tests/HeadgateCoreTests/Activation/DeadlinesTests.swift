import HeadgateSeeds
import Testing

@testable import HeadgateCore

@Suite("Deadlines")
struct DeadlinesTests {
    @Test("The earliest deadline comes first, and among equal ones the one set first")
    func order() {
        var deadlines = Deadlines<String>()
        for (key, time) in [("c", 30), ("a", 10), ("d", 30), ("b", 20)] {
            deadlines.set(key, at: Instant(nanoseconds: Int64(time)))
        }
        #expect(deadlines.popDue(at: Instant(nanoseconds: 9)) == nil)
        var popped: [String] = []
        while let key = deadlines.popDue(at: Instant(nanoseconds: 30)) { popped.append(key) }
        #expect(popped == ["a", "b", "c", "d"])
        #expect(deadlines.isEmpty && deadlines.next == nil)
    }

    @Test("Random operations agree with a plain dictionary", arguments: Seeds.first(50))
    func model(seed: Seed) {
        var random = SeededRandom(seed: seed)
        var deadlines = Deadlines<Int>()
        var model: [Int: Int64] = [:]
        for _ in 0..<600 {
            let key = Int.random(in: 0..<40, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0, 1:
                let time = Int64.random(in: 0..<1000, using: &random)
                deadlines.set(key, at: Instant(nanoseconds: time))
                model[key] = time
            case 2:
                deadlines.remove(key)
                model[key] = nil
            default:
                let least = model.values.min()
                let popped = deadlines.popFirst()
                #expect(popped.flatMap { model[$0] } == least)
                if let popped { model[popped] = nil }
            }
            #expect(deadlines.next?.nanoseconds == model.values.min())
            #expect(deadlines.contains(key) == (model[key] != nil))
        }
    }
}
