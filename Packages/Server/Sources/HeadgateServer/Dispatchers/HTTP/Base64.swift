/// The base64 encoding with padding (RFC 4648, 4).
enum Base64 {
    static func encode(_ bytes: [UInt8]) -> String {
        var encoded: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            encoded += group(Array(bytes[start..<min(start + 3, bytes.count)]))
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// The bytes of an encoded text; nil when it is none.
    static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let encoded = Array(text.utf8)
        let digits = encoded.prefix { $0 != UInt8(ascii: "=") }
        guard encoded.count.isMultiple(of: 4), encoded.count - digits.count <= 2,
            encoded[digits.count...].allSatisfy({ $0 == UInt8(ascii: "=") })
        else { return nil }
        var bytes: [UInt8] = []
        var bits = 0
        var count = 0
        for digit in digits {
            guard let value = self.digits.firstIndex(of: digit) else { return nil }
            bits = bits << 6 | value
            count += 6
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(bits >> count & 0xFF))
            bits &= 1 << count - 1
        }
        return bytes
    }

    /// Four digits for up to three bytes.
    private static func group(_ bytes: [UInt8]) -> [UInt8] {
        let padded = bytes + Array(repeating: 0, count: 3 - bytes.count)
        let bits = padded.reduce(0) { $0 << 8 | Int($1) }
        return (0..<4).map { place in
            place <= bytes.count ? digits[bits >> (18 - 6 * place) & 63] : UInt8(ascii: "=")
        }
    }

    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
}
