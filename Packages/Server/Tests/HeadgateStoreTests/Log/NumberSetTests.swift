import HeadgateCore
import Testing

@testable import HeadgateStore

/// Tests the set that holds the numbers of erased events.
@Suite struct NumberSetTests {
    private static let numbers: [SequenceNumber] = [1, 63, 64, 511, 512, 70_000, 70_001, 1 << 40]

    @Test("E1: a set has its numbers, and no others")
    func members() {
        let set = NumberSet(NumberSetTests.numbers)
        #expect(NumberSetTests.numbers.allSatisfy(set.contains))
        #expect(![0, 2, 62, 65, 513, 69_999, 1 << 40 + 1].contains(where: set.contains))
        #expect(set.mayOverlap(600...70_000) && set.mayOverlap(0...1))
        #expect(!set.mayOverlap(2_000...3_000) && !NumberSet().mayOverlap(0...9))
    }

    @Test("E2: a set is read as it was written")
    func coding() throws {
        let set = NumberSet(NumberSetTests.numbers)
        var writer = LogWriter()
        writer.put(set)
        let read = try writer.bytes.withUnsafeBytes { bytes throws(LogReader.Unsound) in
            var reader = LogReader(bytes)
            return try reader.take(NumberSet.self)
        }
        #expect(read == set)
    }
}
