/// Blanks secrets out of what others say, however they spell them (Behaviour X4).
struct SecretMask {
    private let secrets: Set<String>

    init(_ secrets: some Sequence<String>) {
        self.secrets = Set(secrets).filter { !$0.isEmpty }
    }

    /// How many bytes beyond an excerpt must be known to find each secret that begins in it.
    var longest: Int {
        secrets.map(SpelledSecret.longest).max() ?? 0
    }

    /// The first `limit` bytes as text, `***` in each secret's place, and what is no UTF-8 repaired.
    /// - Parameter isCut: Whether there was more behind `bytes`, so that they may end inside a secret.
    func excerpt(of bytes: [UInt8], isCut: Bool, limit: Int) -> String {
        let spelled = secrets.map(SpelledSecret.init)
        var masked: [UInt8] = []
        var position = 0
        while position < bytes.count, masked.count <= limit {
            // The longest, so that none is blanked in part only because a shorter one lies inside.
            if let length = spelled.compactMap({ $0.length(at: position, of: bytes, isCut: isCut) }).max() {
                masked.append(contentsOf: "***".utf8)
                position += length
            } else {
                masked.append(bytes[position])
                position += 1
            }
        }
        return Self.text(masked, limit: limit)
    }

    /// Cut where a character begins.
    private static func text(_ bytes: [UInt8], limit: Int) -> String {
        guard bytes.count > limit else { return String(decoding: bytes, as: UTF8.self) }
        let longestCharacter = 4
        let last = bytes[max(0, limit - longestCharacter + 1)...limit]
        let beginning = last.lastIndex { $0 & 0xC0 != 0x80 } ?? limit
        return String(decoding: bytes[..<beginning], as: UTF8.self)
    }
}

/// A secret in all the ways that an answer may spell it: as it is, or escaped as in JSON, in a URL or in HTML.
private struct SpelledSecret {
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

/// What is worth as much as the value of a secret header, so that a server may tell none of it on (Behaviour X4).
enum HeaderSecrets {
    /// The value; what follows its scheme, as `abc` in `Bearer abc`; the user and password of `Basic`; and the values of
    /// its parameters, as in `Token key="abc"` or `session=abc; theme=dark`.
    static func forms(of value: String) -> [String] {
        var forms = [value] + parameters(of: value)
        if let space = value.firstIndex(of: " ") {
            let credentials = value[value.index(after: space)...]
            forms.append(String(credentials))
            if value[..<space].lowercased() == "basic" {
                forms += BasicCredentials(base64: credentials)?.secrets ?? []
            }
        }
        return forms
    }

    private static func parameters(of value: String) -> [String] {
        value.split { ",; ".contains($0) }.compactMap { piece in
            guard let mark = piece.firstIndex(of: "=") else { return nil }
            let text = piece[piece.index(after: mark)...].trimmingQuotes
            return text.utf8.count >= shortest ? String(text) : nil
        }
    }

    /// What is shorter is hardly a secret, and would blank half of an answer: `1`, `dark`.
    private static let shortest = 6
}

extension Substring {
    fileprivate var trimmingQuotes: Substring {
        guard count >= 2, first == "\"", last == "\"" else { return self }
        return dropFirst().dropLast()
    }
}

/// The user info in a URL, which libcurl sends as basic authentication.
struct URLCredentials {
    private let userInfo: Substring

    /// Nil for a URL without.
    init?(url: String) {
        guard let scheme = url.firstRange(of: "://") else { return nil }
        let authority = url[scheme.upperBound...].prefix { !"/?#".contains($0) }
        guard let end = authority.lastIndex(of: "@"), end > authority.startIndex else { return nil }
        userInfo = authority[..<end]
    }

    /// All forms in which a server could repeat it.
    var secrets: [String] {
        let parts = userInfo.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let decoded = parts.map(PercentEncoding.decode)
        let credentials = BasicCredentials(user: decoded[0], password: decoded.count == 2 ? decoded[1] : "")
        return [String(userInfo)] + credentials.secrets
    }
}

/// A user and a password, as basic authentication sends them (RFC 7617).
private struct BasicCredentials {
    let user: String
    let password: String

    init(user: String, password: String) {
        self.user = user
        self.password = password
    }

    /// From what follows `Basic ` in a header; nil when that is something else.
    init?(base64: some StringProtocol) {
        guard let bytes = Base64.decode(base64), let pair = String(validating: bytes, as: UTF8.self),
            let colon = pair.firstIndex(of: ":")
        else { return nil }
        self.init(user: String(pair[..<colon]), password: String(pair[pair.index(after: colon)...]))
    }

    /// All forms in which a server could repeat them.
    var secrets: [String] {
        let pair = user + ":" + password
        // Without a password the user is the secret: a token.
        return [pair, password.isEmpty ? user : password, Base64.encode(Array(pair.utf8))]
    }
}
