import CWidth
import Glibc

/// Makes text stand out on a terminal; elsewhere it leaves it as it is.
struct Style: Sendable {
    /// What a text means.
    enum Tone: Sendable {
        /// The text is nothing in particular.
        case plain
        /// A heading, or what matters most.
        case strong
        /// All is well.
        case good
        /// Something is held, or wants to be looked at.
        case attention
        /// Something failed.
        case bad
        /// The text matters less.
        case faint
    }

    /// Whether there are colours.
    let isColoured: Bool

    /// A text in its tone.
    func apply(_ tone: Tone, to text: String) -> String {
        guard isColoured, let code = Style.code(tone), !text.isEmpty else { return text }
        return "\u{1B}[\(code)m\(text)\u{1B}[0m"
    }

    private static func code(_ tone: Tone) -> Int? {
        switch tone {
        case .plain: nil
        case .strong: 1
        case .good: 32
        case .attention: 33
        case .bad: 31
        case .faint: 2
        }
    }
}

/// Text that came from elsewhere, made fit for a terminal.
///
/// Control characters could move the cursor or change colours. Characters of Unicode's category "format" could reverse what
/// stands around them or be invisible, and U+2028 and U+2029 break lines.
enum PlainText {
    /// The text with such characters shown by their numbers, like `\u{202e}`.
    static func line(_ text: String) -> String {
        escaping(text) { "\\u{\(String($0.value, radix: 16))}" }
    }

    /// Several lines, each as ``line(_:)`` has it.
    static func lines(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line(String($0)) }.joined(separator: "\n")
    }

    /// JSON text of one or more lines with such characters escaped as JSON has it: they stand only in strings.
    static func json(_ text: String) -> String {
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

/// How many columns of a terminal text takes, and text fitted to so many.
enum TextWidth {
    /// The columns that the text takes. Colours in it take no room.
    static func columns(_ text: String) -> Int {
        var columns = 0
        var isColour = false
        for character in text {
            if character == "\u{1B}" { isColour = true }
            if !isColour { columns += self.columns(character) }
            if character == "m" { isColour = false }
        }
        return columns
    }

    /// The line, cut off with an ellipsis if it is longer.
    static func cut(_ line: String, to width: Int) -> String {
        guard columns(line) > width else { return line }
        var text = ""
        var room = max(0, width - 1)
        var isColour = false
        for character in line {
            if character == "\u{1B}" { isColour = true }
            if isColour {
                text.append(character)
                if character == "m" { isColour = false }
            } else {
                room -= columns(character)
                if room >= 0 { text.append(character) }
            }
        }
        return width > 0 ? text + "…" : text
    }

    /// The words of a text in lines of that width, those after the first one indented. A longer word has a line of its
    /// own.
    static func wrap(_ text: String, to width: Int, indent: Int = 2) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty, columns(line) + 1 + columns(String(word)) > width {
                lines.append(line)
                line = String(repeating: " ", count: indent) + word
            } else {
                line += (line.isEmpty ? "" : " ") + word
            }
        }
        return lines + [line]
    }

    /// A character takes the room of the widest part of it: what is put onto a letter, or joined to a picture, takes
    /// none of its own.
    private static func columns(_ character: Character) -> Int {
        guard !character.isASCII, let locale else { return 1 }
        let before = uselocale(locale.value)
        defer { uselocale(before) }
        let widest = character.unicodeScalars.map { Int(wcwidth(wchar_t(bitPattern: $0.value))) }.max() ?? 1
        // The C library has no width for characters that are newer than it.
        return widest < 0 ? 1 : widest
    }

    /// A locale, whatever the user's own is: in `C` the C library knows only ASCII. Nil where the system has none of
    /// UTF-8.
    private static let locale = UnicodeLocale()

    /// The check is left out since the locale is never changed or freed.
    private struct UnicodeLocale: @unchecked Sendable {
        let value: locale_t

        init?() {
            guard let value = newlocale(LC_CTYPE_MASK, "C.UTF-8", nil) else { return nil }
            self.value = value
        }
    }
}
