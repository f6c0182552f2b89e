/// The decoded key of an event. Different spellings are equal: `"a"` and `"\u0061"` are one key (Behaviour Q2, P6).
///
/// The bytes are the key's UTF-8. A lone surrogate is encoded in three bytes, as UTF-8 would encode its code point.
/// Valid UTF-8 never contains these bytes, so such a key equals only itself, and not U+FFFD.
public struct EventKey: Hashable, Sendable {
    private let bytes: ArraySlice<UInt8>

    /// Creates a key from a valid JSON string with its quotes.
    init(json: ArraySlice<UInt8>) {
        let text = json.dropFirst().dropLast()
        bytes = text.contains(UInt8(ascii: "\\")) ? EventKey.plain(text)[...] : text
    }

    private static func plain(_ text: ArraySlice<UInt8>) -> [UInt8] {
        var plain: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), let letter = rest.popFirst() else {
                plain.append(byte)
                continue
            }
            switch letter {
            case UInt8(ascii: "u"): append(takeUnit(&rest), &rest, to: &plain)
            case UInt8(ascii: "b"): plain.append(0x08)
            case UInt8(ascii: "f"): plain.append(0x0C)
            case UInt8(ascii: "n"): plain.append(0x0A)
            case UInt8(ascii: "r"): plain.append(0x0D)
            case UInt8(ascii: "t"): plain.append(0x09)
            default: plain.append(letter)
            }
        }
        return plain
    }

    private static func append(_ unit: UInt32, _ rest: inout ArraySlice<UInt8>, to plain: inout [UInt8]) {
        guard 0xD800..<0xDC00 ~= unit, let trail = trail(at: &rest) else { return encode(unit, to: &plain) }
        encode(0x1_0000 + (unit - 0xD800) << 10 + (trail - 0xDC00), to: &plain)
    }

    /// Removes and returns the trailing surrogate at the beginning of `rest`, or returns nil if something else is
    /// there.
    private static func trail(at rest: inout ArraySlice<UInt8>) -> UInt32? {
        guard rest.starts(with: #"\u"#.utf8) else { return nil }
        var ahead = rest.dropFirst(2)
        let unit = takeUnit(&ahead)
        guard 0xDC00..<0xE000 ~= unit else { return nil }
        rest = ahead
        return unit
    }

    private static func takeUnit(_ rest: inout ArraySlice<UInt8>) -> UInt32 {
        defer { rest = rest.dropFirst(4) }
        return rest.prefix(4).reduce(0) { $0 << 4 | UInt32(Character(Unicode.Scalar($1)).hexDigitValue ?? 0) }
    }

    private static func encode(_ value: UInt32, to plain: inout [UInt8]) {
        let last = UInt8(0x80 | value & 0x3F)
        switch value {
        case ..<0x80: plain.append(UInt8(value))
        case ..<0x800: plain += [UInt8(0xC0 | value >> 6), last]
        case ..<0x1_0000: plain += [UInt8(0xE0 | value >> 12), UInt8(0x80 | value >> 6 & 0x3F), last]
        default:
            plain += [
                UInt8(0xF0 | value >> 18), UInt8(0x80 | value >> 12 & 0x3F), UInt8(0x80 | value >> 6 & 0x3F), last,
            ]
        }
    }
}
