/// Percent-encoding: text in which `%` and two hexadecimal digits replace some bytes (RFC 3986, 2.1).
public enum PercentEncoding {
    private static let digits = Array("0123456789ABCDEF".utf8)

    /// Returns the bytes as text, with all bytes encoded that are not kept.
    /// - Parameter isKept: returns true for ASCII characters that need no encoding. It is not asked for other bytes, which
    ///   are always encoded.
    public static func encode(_ bytes: some Sequence<UInt8>, keeping isKept: (UInt8) -> Bool) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.underestimatedCount)
        for byte in bytes {
            if byte < 0x80, isKept(byte) {
                text.append(byte)
            } else {
                text += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns the bytes with all but the unreserved characters encoded (RFC 3986, 2.3), as a part of a URL needs it.
    public static func unreserved(_ bytes: some Sequence<UInt8>) -> String { encode(bytes, keeping: isUnreserved) }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
        default: false
        }
    }

    /// Returns the decoded bytes.
    /// - Parameter isLenient: true to keep a `%` without two hexadecimal digits behind it. Otherwise the result is nil for
    ///   a text with such a `%`.
    public static func decode(_ text: some Sequence<UInt8>, lenient isLenient: Bool = false) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = Array(text)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            if let high = rest.first.flatMap(Hexadecimal.digit),
                let low = rest.dropFirst().first.flatMap(Hexadecimal.digit)
            {
                bytes.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else if isLenient {
                bytes.append(byte)
            } else {
                return nil
            }
        }
        return bytes
    }
}
