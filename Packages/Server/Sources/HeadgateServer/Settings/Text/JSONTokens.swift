/// The smallest pieces of JSON: strings, numbers and words, one after the other.
struct JSONTokens {
    private let text: [UInt8]
    private var position = 0

    init(_ text: [UInt8]) {
        self.text = text
    }

    /// The byte here; nil at the end.
    var byte: UInt8? {
        position < text.count ? text[position] : nil
    }

    /// A complaint about this place.
    func complaint(_ message: String) -> JSONComplaint {
        JSONComplaint(offset: position, message: message)
    }

    mutating func advance() {
        position += 1
    }

    mutating func skipSpace() {
        while let byte, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { advance() }
    }

    /// Passes over a value that begins with this byte and is neither object nor array.
    mutating func takeScalar(_ byte: UInt8) throws(JSONComplaint) {
        switch byte {
        case UInt8(ascii: "\""): try takeString()
        case UInt8(ascii: "t"): try takeWord("true")
        case UInt8(ascii: "f"): try takeWord("false")
        case UInt8(ascii: "n"): try takeWord("null")
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try takeNumber()
        case UInt8(ascii: "/"): throw complaint("expected a value, or a comment that ends")
        default: throw complaint("expected a value")
        }
    }

    private mutating func takeWord(_ word: String) throws(JSONComplaint) {
        guard text[position...].starts(with: word.utf8) else { throw complaint("expected a value") }
        position += word.utf8.count
    }

    private mutating func takeNumber() throws(JSONComplaint) {
        if byte == UInt8(ascii: "-") { advance() }
        if byte == UInt8(ascii: "0") { advance() } else { try takeDigits() }
        if byte == UInt8(ascii: ".") {
            advance()
            try takeDigits()
        }
        guard byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E") else { return }
        advance()
        if byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") { advance() }
        try takeDigits()
    }

    private mutating func takeDigits() throws(JSONComplaint) {
        let start = position
        while let byte, (0x30...0x39).contains(byte) { advance() }
        if position == start { throw complaint("expected a digit") }
    }

    /// Passes over a string, from its opening quote to behind its closing one.
    mutating func takeString() throws(JSONComplaint) {
        advance()
        while let byte, byte != UInt8(ascii: "\"") {
            if byte < 0x20 { throw complaint("a string must end on its line, and have control characters escaped") }
            advance()
            if byte == UInt8(ascii: "\\") { try takeEscape() }
        }
        if byte == nil { throw complaint("a string without its closing quote") }
        advance()
    }

    private mutating func takeEscape() throws(JSONComplaint) {
        guard let byte, "\"\\/bfnrtu".utf8.contains(byte) else { throw complaint("unknown escape in a string") }
        advance()
        guard byte == UInt8(ascii: "u") else { return }
        let digits = text[position...].prefix(4)
        guard digits.count == 4, digits.allSatisfy({ UnicodeScalar($0).properties.isASCIIHexDigit }) else {
            throw complaint("expected four hexadecimal digits")
        }
        position += 4
    }
}
