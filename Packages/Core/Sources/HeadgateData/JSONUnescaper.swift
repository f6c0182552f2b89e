/// Undoes the escapes of a JSON string. What is no escape of JSON's, which a parser would have refused, becomes U+FFFD.
public struct JSONUnescaper {
    private let source: UnsafeRawBufferPointer
    private var place = 0

    /// For what is between the quotes, which has to outlive this.
    public init(_ source: UnsafeRawBufferPointer) {
        self.source = source
    }

    /// Appends the string's UTF-8.
    public consuming func append(to bytes: inout [UInt8]) {
        while place < source.count {
            let rest = UnsafeRawBufferPointer(rebasing: source[place...])
            let plain = rest.firstIndex(of: UInt8(ascii: "\\")) ?? rest.count
            bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: rest[..<plain]))
            place += plain
            guard place < source.count else { return }
            bytes.append(contentsOf: UTF8.encode(nextScalar()) ?? UTF8.encodedReplacementCharacter)
        }
    }

    /// The scalar that the escape here stands for, going past it.
    private mutating func nextScalar() -> Unicode.Scalar {
        let rest = source.count - place
        let letter = rest > 1 ? source[place + 1] : UInt8(ascii: "u")
        guard letter == UInt8(ascii: "u") else {
            place += 2
            return JSONUnescaper.scalar(of: letter)
        }
        guard rest >= 6 else {
            place = source.count
            return "\u{FFFD}"
        }
        let unit = takeCodeUnit()
        guard UTF16.isLeadSurrogate(unit), let trail = trailAhead() else {
            return Unicode.Scalar(unit) ?? "\u{FFFD}"
        }
        place += 6
        let value = 0x1_0000 + (UInt32(unit) - 0xD800) << 10 + (UInt32(trail) - 0xDC00)
        return Unicode.Scalar(value) ?? "\u{FFFD}"
    }

    private mutating func takeCodeUnit() -> UInt16 {
        defer { place += 6 }
        return codeUnit(at: place)
    }

    /// The second half of a surrogate pair, when it is what follows.
    private func trailAhead() -> UInt16? {
        guard place + 6 <= source.count, source[place] == UInt8(ascii: "\\"), source[place + 1] == UInt8(ascii: "u")
        else { return nil }
        let unit = codeUnit(at: place)
        return UTF16.isTrailSurrogate(unit) ? unit : nil
    }

    private func codeUnit(at place: Int) -> UInt16 {
        source[place + 2..<place + 6].reduce(0) { $0 << 4 | JSONUnescaper.value(ofHexDigit: $1) }
    }

    private static func value(ofHexDigit digit: UInt8) -> UInt16 {
        UInt16(digit & 0x0F) + (digit > UInt8(ascii: "9") ? 9 : 0)
    }

    private static func scalar(of letter: UInt8) -> Unicode.Scalar {
        switch letter {
        case UInt8(ascii: "b"): "\u{08}"
        case UInt8(ascii: "f"): "\u{0C}"
        case UInt8(ascii: "n"): "\n"
        case UInt8(ascii: "r"): "\r"
        case UInt8(ascii: "t"): "\t"
        default: Unicode.Scalar(letter)
        }
    }
}
