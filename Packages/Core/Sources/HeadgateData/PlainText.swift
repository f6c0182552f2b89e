/// Functions that make text from other programs safe for a terminal and for a line of a log.
///
/// Control characters could move the cursor or change colours. Characters of Unicode's category "format" could reverse
/// the text around them or be invisible. U+2028 and U+2029 break lines.
public enum PlainText {
    /// Returns the text with such characters as their numbers, like `\u{202e}`.
    public static func line(_ text: String) -> String {
        escaping(text) { "\\u{\(String($0.value, radix: 16))}" }
    }

    /// Returns several lines, each treated by ``line(_:)``.
    public static func lines(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line(String($0)) }.joined(separator: "\n")
    }

    /// Returns JSON text with such characters escaped in JSON's form. They occur only in strings.
    public static func json(_ text: String) -> String {
        escaping(text, but: "\n") { scalar in
            String(scalar).utf16.map { unit in
                let digits = String(unit, radix: 16)
                return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }.joined()
        }
    }

    private static func escaping(
        _ text: String, but kept: Unicode.Scalar? = nil, _ escape: (Unicode.Scalar) -> String
    ) -> String {
        func isEscaped(_ scalar: Unicode.Scalar) -> Bool { scalar != kept && steers(scalar) }
        guard text.unicodeScalars.contains(where: isEscaped) else { return text }
        return text.unicodeScalars.map { isEscaped($0) ? escape($0) : String($0) }.joined()
    }

    private static func steers(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return scalar.value < 0x20 || scalar.value == 0x7F }
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: return true
        // Several scripts and emoji need the joiners.
        case .format: return scalar != "\u{200C}" && scalar != "\u{200D}"
        default: return false
        }
    }
}
