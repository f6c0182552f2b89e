/// Fits text to so many columns.
enum TextWidth {
    /// The line, cut off with an ellipsis if it is longer. Colours in it take no room.
    static func cut(_ line: String, to width: Int) -> String {
        guard visibleCount(line) > width else { return line }
        var text = ""
        var room = max(0, width - 1)
        var isColour = false
        for character in line {
            if character == "\u{1B}" { isColour = true }
            if isColour {
                text.append(character)
                if character == "m" { isColour = false }
            } else if room > 0 {
                text.append(character)
                room -= 1
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
            if !line.isEmpty, line.count + 1 + word.count > width {
                lines.append(line)
                line = String(repeating: " ", count: indent) + word
            } else {
                line += (line.isEmpty ? "" : " ") + word
            }
        }
        return lines + [line]
    }

    private static func visibleCount(_ line: String) -> Int {
        var count = 0
        var isColour = false
        for character in line {
            if character == "\u{1B}" { isColour = true }
            if !isColour { count += 1 }
            if character == "m" { isColour = false }
        }
        return count
    }
}
