import HeadgateSeeds
import Testing

@testable import HeadgateCore

@Suite("A dispatcher's settlements")
struct SettledTests {
    @Test("Q2: settlements agree with a plain set of sequence numbers", arguments: Seeds.first(60))
    func parts(seed: Seed) {
        var random = SeededRandom(seed: seed)
        let position = SequenceNumber(Int.random(in: 0...20, using: &random))
        let ranges = (0..<Int.random(in: 0...4, using: &random)).map { _ in
            let first = SequenceNumber(Int.random(in: 1...50, using: &random))
            return first...first + SequenceNumber(Int.random(in: 0...9, using: &random))
        }
        let settled = Settled(through: position, and: ranges)
        let all = Set((1...70).filter(settled.contains))
        let taken = (1...70 as ClosedRange<SequenceNumber>).filter { _ in random.oneIn(5) }
        let end = SequenceNumber(Int.random(in: 0...70, using: &random))
        #expect(numbers(settled.without(taken)) == all.subtracting(taken), "\(seed)")
        #expect(numbers(settled.through(end)) == all.filter { $0 <= end }, "\(seed)")
        #expect(settled.without([]) == settled && settled.through(70) == settled, "\(seed)")
    }

    private func numbers(_ settled: Settled) -> Set<SequenceNumber> { Set((1...70).filter(settled.contains)) }
}
