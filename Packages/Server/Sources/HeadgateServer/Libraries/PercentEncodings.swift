import HeadgateData

extension PercentEncoding {
    /// Encodes a value for a header. All visible ASCII except `%` remains.
    static func header(_ text: String) -> String {
        // Nearly all values need no encoding.
        if text.utf8.allSatisfy(isVisible) { return text }
        return encode(text.utf8, keeping: isVisible)
    }

    private static func isVisible(_ byte: UInt8) -> Bool { 0x21...0x7E ~= byte && byte != UInt8(ascii: "%") }

    /// Returns the decoded text. A `%` without two hexadecimal digits behind it remains.
    static func decode(_ text: some StringProtocol) -> String {
        String(decoding: decode(text.utf8, lenient: true) ?? [], as: UTF8.self)
    }
}
