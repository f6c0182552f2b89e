/// The characters that one place in a pattern takes.
struct CharacterSet: Sendable, Equatable {
    private var ranges: [ClosedRange<UInt32>]
    private var isNegated = false

    init(_ ranges: [ClosedRange<UInt32>]) {
        self.ranges = ranges
    }

    init(_ scalar: Unicode.Scalar) {
        ranges = [scalar.value...scalar.value]
    }

    static let digit = CharacterSet([0x30...0x39])
    static let word = CharacterSet([0x30...0x39, 0x41...0x5A, 0x5F...0x5F, 0x61...0x7A])
    static let space = CharacterSet([0x09...0x0D, 0x20...0x20])
    /// Any but a line feed.
    static let any = CharacterSet([0x0A...0x0A]).negated

    /// All characters that this has not.
    var negated: CharacterSet {
        var set = self
        set.isNegated.toggle()
        return set
    }

    /// The characters of both.
    func union(_ other: CharacterSet) -> CharacterSet {
        CharacterSet(positiveRanges + other.positiveRanges)
    }

    func contains(_ scalar: Unicode.Scalar, ignoreCase: Bool) -> Bool {
        let isIn = holds(scalar.value) || (ignoreCase && scalar.otherCases.contains(where: holds))
        return isIn != isNegated
    }

    /// The one character that it has; nil when it has others.
    var onlyScalar: Unicode.Scalar? {
        guard !isNegated, ranges.count == 1, ranges[0].count == 1 else { return nil }
        return Unicode.Scalar(ranges[0].lowerBound)
    }

    private func holds(_ value: UInt32) -> Bool {
        ranges.contains { $0.contains(value) }
    }

    private var positiveRanges: [ClosedRange<UInt32>] {
        guard isNegated else { return ranges }
        var gaps: [ClosedRange<UInt32>] = []
        var next: UInt32 = 0
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if range.lowerBound > next { gaps.append(next...range.lowerBound - 1) }
            next = max(next, range.upperBound + 1)
        }
        if next <= 0x10_FFFF { gaps.append(next...0x10_FFFF) }
        return gaps
    }
}

extension Unicode.Scalar {
    /// The character in upper and in lower case, where these are single ones.
    fileprivate var otherCases: [UInt32] {
        let mappings = [properties.lowercaseMapping, properties.uppercaseMapping]
        return mappings.filter { $0.unicodeScalars.count == 1 }.flatMap { $0.unicodeScalars.map(\.value) }
    }
}
