/// The conversion of JSON with comments into JSON of the same length, so that all offsets stay the same.
///
/// `// …` up to the end of the line and `/* … */` become spaces; line ends within them are kept. Comments within
/// strings are not recognised. An unterminated `/*` is left for the parser to report.
public struct CommentStripper {
    private var text: [UInt8]
    private var position = 0

    /// Returns the text with its comments, and a byte order mark at its start, replaced with spaces.
    public static func strip(_ text: [UInt8]) -> [UInt8] {
        var stripper = CommentStripper(text: text)
        stripper.run()
        return stripper.text
    }

    private init(text: [UInt8]) {
        self.text = text
    }

    private mutating func run() {
        if text.starts(with: [0xEF, 0xBB, 0xBF]) { blank(3) }
        while position < text.count {
            switch text[position] {
            case UInt8(ascii: "\""): skipString()
            case UInt8(ascii: "/") where next == UInt8(ascii: "/"): blankLine()
            case UInt8(ascii: "/") where next == UInt8(ascii: "*"): blankBlock()
            default: position += 1
            }
        }
    }

    private var next: UInt8? {
        position + 1 < text.count ? text[position + 1] : nil
    }

    private mutating func skipString() {
        position += 1
        while position < text.count, text[position] != UInt8(ascii: "\"") {
            position += text[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        position += 1
    }

    private mutating func blankLine() {
        while position < text.count, !CommentStripper.isLineEnd(text[position]) { blank(1) }
    }

    private mutating func blankBlock() {
        guard let end = blockEnd else {
            position = text.count
            return
        }
        while position < end { blank(1) }
    }

    /// The offset after the `*/` of the block that begins here; nil if it is unterminated.
    private var blockEnd: Int? {
        var offset = position + 3
        while offset < text.count {
            if text[offset] == UInt8(ascii: "/"), text[offset - 1] == UInt8(ascii: "*") { return offset + 1 }
            offset += 1
        }
        return nil
    }

    private mutating func blank(_ count: Int) {
        for _ in 0..<count {
            if !CommentStripper.isLineEnd(text[position]) { text[position] = UInt8(ascii: " ") }
            position += 1
        }
    }

    private static func isLineEnd(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
    }
}
