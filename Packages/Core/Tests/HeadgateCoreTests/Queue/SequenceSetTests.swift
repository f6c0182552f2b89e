import HeadgateSeeds
import Testing

@testable import HeadgateCore

@Suite("Sets of sequence numbers")
struct SequenceSetTests {
    @Test("A set contains the added ascending numbers, and no others", arguments: Seeds.first(50))
    func contains(seed: Seed) {
        var random = SeededRandom(seed: seed)
        let numbers = (1...200 as ClosedRange<SequenceNumber>).filter { _ in !random.oneIn(Int(seed.number % 7) + 2) }
        let set = SequenceSet(numbers)
        #expect((0...201).filter(set.contains) == numbers)
        #expect(set.count == numbers.count && set.isEmpty == numbers.isEmpty)
    }

    @Test("Sets are equal whether numbers are added one by one or at once")
    func equality() {
        var set = SequenceSet()
        for number in [3, 4, 9] as [SequenceNumber] { set.append(number) }
        #expect(set == SequenceSet([3, 4, 9]))
        #expect(set != SequenceSet([3, 4]))
        #expect(!SequenceSet().contains(0))
    }

    @Test("D13: a value stored once for a range applies to each number", arguments: Seeds.first(50))
    func annotations(seed: Seed) {
        var random = SeededRandom(seed: seed)
        var held = HeldRanges()
        for word in ["manual", "batching", "schedule", "manual"] {
            let first = SequenceNumber(Int.random(in: 1...40, using: &random))
            held.hold([word], first...first + SequenceNumber(Int.random(in: 0...20, using: &random)))
        }
        var annotations = QueuedAnnotations(held, networkConnectionType: "wifi")
        for number in 1...70 as ClosedRange<SequenceNumber> where !random.oneIn(3) {
            let reasons = held.reasons(for: number)
            let alone = QueuedAnnotation(reasons: reasons, networkConnectionType: "wifi")
            #expect(annotations.annotation(of: number)?.members == (reasons.isEmpty ? nil : alone.members))
        }
    }
}
