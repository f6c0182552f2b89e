import CWidth
import Glibc

/// Colours text on a terminal. Elsewhere it leaves text unchanged.
struct Style: Sendable {
    /// The meaning of a text, which selects its colour.
    enum Tone: Sendable {
        /// Normal text.
        case plain
        /// A heading, or the most important text.
        case strong
        /// A good state.
        case good
        /// A state that needs attention, like a blocked dispatcher.
        case attention
        /// A failed state.
        case bad
        /// Less important text.
        case faint
    }

    /// A Boolean value that says whether text is coloured.
    let isColoured: Bool

    /// Returns a text in the colour of a tone.
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

/// Measures and fits text to the columns of a terminal.
enum TextWidth {
    /// Returns the columns that a text takes. Colours take none.
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

    /// Returns the line, cut with an ellipsis if it is too wide.
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

    /// Breaks a text into lines of a width, and indents all but the first. A wider word gets a line of its own.
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

    /// Returns the columns of a character: those of its widest scalar. Scalars that combine with another take none.
    private static func columns(_ character: Character) -> Int {
        guard !character.isASCII, let locale else { return 1 }
        let before = uselocale(locale.value)
        defer { uselocale(before) }
        let widest = character.unicodeScalars.map { Int(wcwidth(wchar_t(bitPattern: $0.value))) }.max() ?? 1
        // The C library has no width for characters that are newer than it.
        return widest < 0 ? 1 : widest
    }

    /// A UTF-8 locale, independent of the user's. In the locale `C` the C library knows only ASCII. Nil if the system
    /// has no UTF-8 locale.
    private static let locale = UnicodeLocale()

    /// A UTF-8 locale of the C library. It may be shared by threads, because it is never changed or freed.
    private struct UnicodeLocale: @unchecked Sendable {
        let value: locale_t

        init?() {
            guard let value = newlocale(LC_CTYPE_MASK, "C.UTF-8", nil) else { return nil }
            self.value = value
        }
    }
}
