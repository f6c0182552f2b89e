/// Bytes in hexadecimal digits, in upper or lower case.
public enum Hexadecimal {
    /// Returns the bytes of a text of two digits a byte, or nil if the text has another form.
    public static func bytes(_ text: some StringProtocol) -> [UInt8]? {
        let digits = text.utf8.compactMap(digit)
        guard digits.count == text.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    /// Returns the value of a digit in ASCII, or nil for any other byte.
    static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
