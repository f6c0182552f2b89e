/// A decoder of the escapes of a JSON string. An invalid escape, which a parser would have rejected, becomes U+FFFD.
public struct JSONUnescaper {
    private let source: UnsafeRawBufferPointer
    private var offset = 0

    /// Creates an unescaper for the bytes between the quotes. The bytes must outlive the unescaper.
    public init(_ source: UnsafeRawBufferPointer) {
        self.source = source
    }

    /// Appends the decoded string in UTF-8.
    /// - Parameter keepingHalves: true to encode a lone surrogate as UTF-8 would encode its code point, so that
    ///   different strings give different bytes. False to replace it with U+FFFD.
    public consuming func append(to bytes: inout [UInt8], keepingHalves: Bool = false) {
        while offset < source.count {
            let rest = UnsafeRawBufferPointer(rebasing: source[offset...])
            let plain = rest.firstIndex(of: UInt8(ascii: "\\")) ?? rest.count
            if plain > 0 { bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: rest[..<plain])) }
            offset += plain
            guard offset < source.count else { return }
            switch nextCharacter() {
            case .scalar(let scalar): JSONUnescaper.append(scalar, to: &bytes)
            case .half(let unit) where keepingHalves: JSONUnescaper.append(unit, to: &bytes)
            case .half: JSONUnescaper.append("\u{FFFD}", to: &bytes)
            }
        }
    }

    /// The result of decoding one escape.
    private enum Character {
        case scalar(Unicode.Scalar)
        /// A lone surrogate: half of a surrogate pair.
        case half(UInt16)
    }

    /// Appends a character byte by byte, because a client may send half a million escapes in a line (Behaviour X3).
    private static func append(_ scalar: Unicode.Scalar, to bytes: inout [UInt8]) {
        let value = scalar.value
        guard value >= 0x80 else { return bytes.append(UInt8(value)) }
        if value >= 0x1_0000 {
            bytes.append(0xF0 | UInt8(value >> 18))
            bytes.append(0x80 | UInt8(value >> 12 & 0x3F))
        } else if value >= 0x800 {
            bytes.append(0xE0 | UInt8(value >> 12))
        }
        bytes.append(value >= 0x800 ? 0x80 | UInt8(value >> 6 & 0x3F) : 0xC0 | UInt8(value >> 6))
        bytes.append(0x80 | UInt8(value & 0x3F))
    }

    /// Appends a lone surrogate as three bytes with four, six and six bits. Valid UTF-8 never contains these bytes, so
    /// the result is unambiguous.
    private static func append(_ half: UInt16, to bytes: inout [UInt8]) {
        bytes.append(0xE0 | UInt8(half >> 12))
        bytes.append(0x80 | UInt8(half >> 6 & 0x3F))
        bytes.append(0x80 | UInt8(half & 0x3F))
    }

    /// Decodes the escape at the current position and moves past it.
    private mutating func nextCharacter() -> Character {
        let rest = source.count - offset
        let character = rest > 1 ? source[offset + 1] : UInt8(ascii: "u")
        guard character == UInt8(ascii: "u") else {
            offset += 2
            return .scalar(JSONUnescaper.scalar(of: character))
        }
        guard rest >= 6 else {
            offset = source.count
            return .scalar("\u{FFFD}")
        }
        let unit = takeCodeUnit()
        guard UTF16.isLeadSurrogate(unit), let trail = trailAhead() else {
            return Unicode.Scalar(unit).map { .scalar($0) } ?? .half(unit)
        }
        offset += 6
        let value = 0x1_0000 + (UInt32(unit) - 0xD800) << 10 + (UInt32(trail) - 0xDC00)
        return .scalar(Unicode.Scalar(value) ?? "\u{FFFD}")
    }

    private mutating func takeCodeUnit() -> UInt16 {
        defer { offset += 6 }
        return codeUnit(at: offset)
    }

    /// Returns the trailing surrogate at the current position, or nil if something else follows.
    private func trailAhead() -> UInt16? {
        guard offset + 6 <= source.count, source[offset] == UInt8(ascii: "\\"), source[offset + 1] == UInt8(ascii: "u")
        else { return nil }
        let unit = codeUnit(at: offset)
        return UTF16.isTrailSurrogate(unit) ? unit : nil
    }

    private func codeUnit(at offset: Int) -> UInt16 {
        let (first, second) = (digit(at: offset + 2), digit(at: offset + 3))
        return first << 12 | second << 8 | digit(at: offset + 4) << 4 | digit(at: offset + 5)
    }

    private func digit(at offset: Int) -> UInt16 {
        JSONUnescaper.value(ofHexDigit: source[offset])
    }

    private static func value(ofHexDigit digit: UInt8) -> UInt16 {
        UInt16(digit & 0x0F) + (digit > UInt8(ascii: "9") ? 9 : 0)
    }

    private static func scalar(of character: UInt8) -> Unicode.Scalar {
        switch character {
        case UInt8(ascii: "b"): "\u{08}"
        case UInt8(ascii: "f"): "\u{0C}"
        case UInt8(ascii: "n"): "\n"
        case UInt8(ascii: "r"): "\r"
        case UInt8(ascii: "t"): "\t"
        default: Unicode.Scalar(character)
        }
    }
}
