import HeadgateSeeds
import Testing

@testable import HeadgateClient

@Suite struct SortedLineTests {
    @Test("A sorted line stays in order through any insertions and removals", arguments: Seeds.first(20))
    func againstAnArray(seed: Seed) {
        var generator = SeededRandom(seed: seed)
        var line = SortedLine<Int>()
        var model: [Int] = []
        for _ in 1...600 {
            let number = Int.random(in: 0..<400, using: &generator)
            switch Int.random(in: 0..<4, using: &generator) {
            case 0 where !model.contains(number):
                line.insert(number)
                model.append(number)
                model.sort()
            case 1:
                line.remove(number)
                model.removeAll { $0 == number }
            case 2 where !model.isEmpty:
                line.removeFirst()
                model.removeFirst()
            default:
                let next = (model.last ?? 0) + 1
                line.insert(next)
                model.append(next)
            }
            #expect(line.first == model.first)
            #expect(line.isEmpty == model.isEmpty)
        }
        while let first = line.first {
            #expect(first == model.removeFirst())
            line.removeFirst()
        }
        #expect(model.isEmpty)
    }
}
