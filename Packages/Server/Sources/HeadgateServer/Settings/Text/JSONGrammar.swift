/// Walks a text by JSON's grammar up to the first fault.
struct JSONGrammar {
    var tokens: JSONTokens
    /// The brackets that are open, outermost first, as the bytes that close them.
    private var closers: [UInt8] = []
    private var expectation = Expectation.value

    /// What may come next.
    private enum Expectation {
        /// A value.
        case value
        /// A value, or the end of an array that just began.
        case valueOrEnd
        /// A member's name.
        case name
        /// A member's name, or the end of an object that just began.
        case nameOrEnd
        /// The colon behind a name.
        case colon
        /// What stands behind a whole value: a comma, the end of what it is in, or of the text.
        case behindValue
    }

    init(_ text: [UInt8]) {
        tokens = JSONTokens(text)
    }

    mutating func check() throws(JSONComplaint) {
        while true {
            tokens.skipSpace()
            guard let byte = tokens.byte else { break }
            try take(byte)
        }
        if !closers.isEmpty || expectation != .behindValue { throw tokens.complaint("the text ends too early") }
    }

    private mutating func take(_ byte: UInt8) throws(JSONComplaint) {
        switch expectation {
        case .valueOrEnd where byte == UInt8(ascii: "]"), .nameOrEnd where byte == UInt8(ascii: "}"): close()
        case .value, .valueOrEnd: try takeValue(byte)
        case .name, .nameOrEnd: try takeName(byte)
        case .colon: try takeColon(byte)
        case .behindValue: try takeBehindValue(byte)
        }
    }

    private mutating func takeValue(_ byte: UInt8) throws(JSONComplaint) {
        switch byte {
        case UInt8(ascii: "{"): open(closedBy: UInt8(ascii: "}"), .nameOrEnd)
        case UInt8(ascii: "["): open(closedBy: UInt8(ascii: "]"), .valueOrEnd)
        default:
            try tokens.takeScalar(byte)
            expectation = .behindValue
        }
    }

    private mutating func takeName(_ byte: UInt8) throws(JSONComplaint) {
        guard byte == UInt8(ascii: "\"") else { throw tokens.complaint("expected a name in quotes") }
        try tokens.takeString()
        expectation = .colon
    }

    private mutating func takeColon(_ byte: UInt8) throws(JSONComplaint) {
        guard byte == UInt8(ascii: ":") else { throw tokens.complaint("expected `:`") }
        tokens.advance()
        expectation = .value
    }

    private mutating func takeBehindValue(_ byte: UInt8) throws(JSONComplaint) {
        guard let closer = closers.last else { throw tokens.complaint("expected nothing more") }
        if byte == closer { return close() }
        guard byte == UInt8(ascii: ",") else {
            throw tokens.complaint("expected `,` or `\(Character(UnicodeScalar(closer)))`")
        }
        tokens.advance()
        expectation = closer == UInt8(ascii: "}") ? .name : .value
    }

    private mutating func open(closedBy closer: UInt8, _ next: Expectation) {
        tokens.advance()
        closers.append(closer)
        expectation = next
    }

    private mutating func close() {
        tokens.advance()
        closers.removeLast()
        expectation = .behindValue
    }
}
