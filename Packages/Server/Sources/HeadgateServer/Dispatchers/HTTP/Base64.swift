/// The base64 encoding with padding (RFC 4648, 4).
enum Base64 {
    static func encode(_ bytes: [UInt8]) -> String {
        var encoded: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            encoded += group(Array(bytes[start..<min(start + 3, bytes.count)]))
        }
        return String(decoding: encoded, as: UTF8.self)
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
