import Testing

@testable import HeadgateClient

@Suite struct SortedLineTests {
    @Test("It keeps the order through any insertions and removals", arguments: 1...20 as ClosedRange<UInt64>)
    func againstAnArray(seed: UInt64) {
        var generator = SeededGenerator(state: seed)
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

/// Random numbers that can be repeated.
private struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state ^ state >> 29
    }
}
