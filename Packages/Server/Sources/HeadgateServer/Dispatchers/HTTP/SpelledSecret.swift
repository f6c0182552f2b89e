/// A secret in all the ways that an answer may spell it: as it is, or escaped as in JSON, in a URL or in HTML.
struct SpelledSecret {
    /// For each character what it may look like, in bytes.
    private let characters: [[[UInt8]]]

    init(_ secret: String) {
        characters = secret.unicodeScalars.map(Self.spellings)
    }

    /// The most bytes that a secret can take, however it is spelled: no spelling of a character has more than six times
    /// its bytes.
    static func longest(_ secret: String) -> Int {
        secret.utf8.count * 6
    }

    /// How many bytes it takes where it begins at `start`; nil if it does not.
    /// - Parameter isCut: Whether there is more behind `bytes`, so that they may end inside it.
    func length(at start: Int, of bytes: [UInt8], isCut: Bool) -> Int? {
        // Where the characters so far may end: a backslash, say, can be one or the beginning of an escape.
        var ends: Set = [start]
        for spellings in characters {
            var next: Set<Int> = []
            for end in ends {
                let rest = bytes[end...]
                for spelling in spellings {
                    if rest.starts(with: spelling) {
                        next.insert(end + spelling.count)
                    } else if isCut, spelling.starts(with: rest) {
                        return bytes.count - start
                    }
                }
            }
            guard !next.isEmpty else { return nil }
            ends = next
        }
        return ends.max().map { $0 - start }
    }

    private static func spellings(of scalar: Unicode.Scalar) -> [[UInt8]] {
        let plain = String(scalar)
        var texts = [plain, "&#\(scalar.value);"]
        for isUpper in [false, true] {
            texts.append(plain.utf16.map { "\\u" + hexadecimal($0, 4, isUpper) }.joined())
            texts.append(plain.utf8.map { "%" + hexadecimal($0, 2, isUpper) }.joined())
            texts.append("&#x" + hexadecimal(scalar.value, 0, isUpper) + ";")
        }
        if let escape = jsonEscapes[scalar] { texts.append(escape) }
        if let entity = entities[scalar] { texts.append(entity) }
        if scalar == " " { texts.append("+") }
        return texts.map { Array($0.utf8) }
    }

    private static func hexadecimal(_ number: some BinaryInteger, _ width: Int, _ isUpper: Bool) -> String {
        let digits = String(number, radix: 16, uppercase: isUpper)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    private static let jsonEscapes: [Unicode.Scalar: String] = [
        "\"": #"\""#, "\\": #"\\"#, "/": #"\/"#, "\u{08}": #"\b"#, "\u{0C}": #"\f"#, "\n": #"\n"#, "\r": #"\r"#,
        "\t": #"\t"#,
    ]

    private static let entities: [Unicode.Scalar: String] = [
        "&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;", "'": "&apos;",
    ]
}
