/// The base64 encoding with padding (RFC 4648, section 4).
public enum Base64 {
    private static let characters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let padding = UInt8(ascii: "=")

    public static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let count = min(3, bytes.count - start)
            var bits: UInt32 = 0
            for offset in 0..<3 { bits = bits << 8 | (offset < count ? UInt32(bytes[start + offset]) : 0) }
            for index in 0..<4 {
                text.append(index <= count ? characters[Int(bits >> (18 - 6 * index) & 63)] : padding)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns the decoded bytes, or nil if the text is no base64. Unused bits of the last letter may have any value.
    public static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let padded = Array(text.utf8)
        let characters = padded.prefix { $0 != padding }
        let rest = padded[characters.count...]
        guard padded.count % 4 == 0, rest.count <= 2, rest.allSatisfy({ $0 == padding }) else { return nil }
        var (bytes, bits, count): ([UInt8], UInt32, Int) = ([], 0, 0)
        bytes.reserveCapacity(padded.count / 4 * 3)
        for character in characters {
            guard let value = value(of: character) else { return nil }
            (bits, count) = (bits << 6 | value, count + 6)
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
        }
        return bytes
    }

    private static func value(of character: UInt8) -> UInt32? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
