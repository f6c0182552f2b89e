import HeadgateCore

/// A set of sequence numbers that takes at most one bit for each number between the first and the last, so that millions of
/// erased events need little memory (Behaviour E1).
struct NumberSet: Equatable {
    /// The members, one bit each, in pages of 512 numbers.
    fileprivate var pages: [Int64: SIMD8<UInt64>] = [:]

    private static func position(_ number: SequenceNumber) -> (page: Int64, word: Int, bit: UInt64) {
        (number >> 9, Int(number >> 6) & 7, 1 << UInt64(number & 63))
    }

    var isEmpty: Bool { pages.isEmpty }

    func contains(_ number: SequenceNumber) -> Bool {
        let (page, word, bit) = NumberSet.position(number)
        return pages[page].map { $0[word] & bit != 0 } ?? false
    }

    /// Returns true if some members may be in a range: a range without any may share a page with one.
    func mayOverlap(_ range: ClosedRange<SequenceNumber>) -> Bool {
        if pages.isEmpty { return false }
        return (range.lowerBound >> 9...range.upperBound >> 9).contains { pages[$0] != nil }
    }

    mutating func insert(_ number: SequenceNumber) {
        let (page, word, bit) = NumberSet.position(number)
        pages[page, default: .zero][word] |= bit
    }
}

extension NumberSet: ExpressibleByArrayLiteral {
    init(_ numbers: some Sequence<SequenceNumber>) {
        for number in numbers { insert(number) }
    }

    init(arrayLiteral numbers: SequenceNumber...) { self.init(numbers) }
}

extension NumberSet: LogCodable {
    func write(to writer: inout LogWriter) { writer.put(pages) }

    init(from reader: inout LogReader) throws(LogReader.Unsound) { pages = try reader.take() }
}

extension SIMD8: LogCodable where Scalar == UInt64 {
    func write(to writer: inout LogWriter) {
        for index in indices { writer.put(self[index]) }
    }

    init(from reader: inout LogReader) throws(LogReader.Unsound) {
        self.init()
        for index in indices { self[index] = try reader.take() }
    }
}
