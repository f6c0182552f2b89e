/// Text in which some bytes stand as `%` and two hexadecimal digits (RFC 3986, 2.1).
struct PercentEncoding: Sendable {
    private let isKept: @Sendable (UInt8) -> Bool

    /// For a value in a URL's query: only what has no meaning in any URL stays.
    static let query = PercentEncoding { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: unreservedMarks.contains(byte)
        }
    }

    /// For a header's value: all visible ASCII stays.
    static let header = PercentEncoding { byte in
        (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "%")
    }

    func encode(_ bytes: some Sequence<UInt8>) -> String {
        var encoded: [UInt8] = []
        for byte in bytes {
            guard !isKept(byte) else {
                encoded.append(byte)
                continue
            }
            encoded.append(UInt8(ascii: "%"))
            encoded.append(Self.digits[Int(byte >> 4)])
            encoded.append(Self.digits[Int(byte & 15)])
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// The text that was encoded; a `%` that no two digits follow stays.
    static func decode(_ text: some StringProtocol) -> String {
        var decoded: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%"), let value = value(ofDigits: rest.prefix(2)) else {
                decoded.append(byte)
                continue
            }
            decoded.append(value)
            rest = rest.dropFirst(2)
        }
        return String(decoding: decoded, as: UTF8.self)
    }

    private static func value(ofDigits pair: ArraySlice<UInt8>) -> UInt8? {
        let places = pair.map { Character(UnicodeScalar($0)).hexDigitValue }
        guard places.count == 2, let high = places[0], let low = places[1] else { return nil }
        return UInt8(high << 4 | low)
    }

    private static let unreservedMarks = Array("-._~".utf8)
    private static let digits = Array("0123456789ABCDEF".utf8)
}
