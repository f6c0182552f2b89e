import HeadgateData

/// A mask that hides secrets in the texts of other programs, in every spelling (Behaviour X4).
struct SecretMask {
    private let secrets: Set<String>

    init(_ secrets: some Sequence<String>) {
        self.secrets = Set(secrets).filter { !$0.isEmpty }
    }

    /// The number of bytes after an excerpt that are needed to find every secret that begins in it.
    var longest: Int {
        secrets.map(SpelledSecret.longest).max() ?? 0
    }

    /// Returns the first `limit` bytes as text, with `***` in place of each secret, and with invalid UTF-8 replaced.
    /// - Parameter isCut: true if the text goes on after `bytes`, so that a secret may be cut at their end.
    func excerpt(of bytes: [UInt8], isCut: Bool, limit: Int) -> String {
        let spelled = secrets.map(SpelledSecret.init)
        var masked: [UInt8] = []
        var position = 0
        while position < bytes.count, masked.count <= limit {
            // The longest match counts, so that a secret is not hidden only in part because it contains a shorter one.
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

    /// Returns the text, cut at the beginning of a character.
    private static func text(_ bytes: [UInt8], limit: Int) -> String {
        guard bytes.count > limit else { return String(decoding: bytes, as: UTF8.self) }
        let longestCharacter = 4
        let last = bytes[max(0, limit - longestCharacter + 1)...limit]
        let beginning = last.lastIndex { $0 & 0xC0 != 0x80 } ?? limit
        return String(decoding: bytes[..<beginning], as: UTF8.self)
    }
}

/// A secret in every spelling of an answer: plain, or escaped as in JSON, a URL or HTML.
private struct SpelledSecret {
    /// The possible spellings of each character, in bytes.
    private let characters: [[[UInt8]]]

    init(_ secret: String) {
        characters = secret.unicodeScalars.map(Self.encodings)
    }

    /// Returns the most bytes of a secret in any spelling. No spelling of a character has more than six times its
    /// bytes.
    static func longest(_ secret: String) -> Int {
        secret.utf8.count * 6
    }

    /// Returns the length of the secret at an offset, or nil if it is not there.
    /// - Parameter isCut: true if the text goes on after `bytes`, so that the secret may be cut at their end.
    func length(at start: Int, of bytes: [UInt8], isCut: Bool) -> Int? {
        // The possible ends of the characters so far. A backslash, for example, may be a character or begin an escape.
        var ends: Set = [start]
        for encodings in characters {
            var next: Set<Int> = []
            for end in ends {
                let rest = bytes[end...]
                for encoding in encodings {
                    if rest.starts(with: encoding) {
                        next.insert(end + encoding.count)
                    } else if isCut, encoding.starts(with: rest) {
                        return bytes.count - start
                    }
                }
            }
            guard !next.isEmpty else { return nil }
            ends = next
        }
        return ends.max().map { $0 - start }
    }

    private static func encodings(of scalar: Unicode.Scalar) -> [[UInt8]] {
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

/// The parts of a secret header's value that are secrets, too (Behaviour X4).
enum HeaderSecrets {
    /// Returns the value; its credentials, like `abc` in `Bearer abc`; the user and password of `Basic`; and the values
    /// of parameters, as in `Token key="abc"` or `session=abc; theme=dark`.
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

    /// The fewest bytes of a parameter's value that counts as a secret. Short values like `1` or `dark` would hide half
    /// of an answer.
    private static let shortest = 6
}

extension Substring {
    fileprivate var trimmingQuotes: Substring {
        guard count >= 2, first == "\"", last == "\"" else { return self }
        return dropFirst().dropLast()
    }
}

/// The user info of a URL, which libcurl sends as basic authentication.
struct URLCredentials {
    private let userInfo: Substring

    /// Returns nil if the URL has no user info.
    init?(url: String) {
        guard let scheme = url.firstRange(of: "://") else { return nil }
        let authority = url[scheme.upperBound...].prefix { !"/?#".contains($0) }
        guard let end = authority.lastIndex(of: "@"), end > authority.startIndex else { return nil }
        userInfo = authority[..<end]
    }

    /// Makes the user info of a proxy's URL, which may lack its scheme.
    init?(proxy: String) {
        self.init(url: proxy.contains("://") ? proxy : "http://\(proxy)")
    }

    /// The user's name in both of its forms.
    var userNames: [String] {
        let name = userInfo.prefix { $0 != ":" }
        return [String(name), PercentEncoding.decode(name)]
    }

    /// All forms in which a server could repeat the user info.
    var secrets: [String] {
        let parts = userInfo.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let decoded = parts.map(PercentEncoding.decode)
        let credentials = BasicCredentials(user: decoded[0], password: decoded.count == 2 ? decoded[1] : "")
        return [String(userInfo)] + credentials.secrets
    }
}

/// The user and password of basic authentication (RFC 7617).
private struct BasicCredentials {
    let user: String
    let password: String

    init(user: String, password: String) {
        self.user = user
        self.password = password
    }

    /// Reads the text after `Basic ` in a header. Returns nil if it has another form.
    init?(base64: some StringProtocol) {
        guard let bytes = Base64.decode(base64), let pair = String(validating: bytes, as: UTF8.self),
            let colon = pair.firstIndex(of: ":")
        else { return nil }
        self.init(user: String(pair[..<colon]), password: String(pair[pair.index(after: colon)...]))
    }

    /// All forms in which a server could repeat the user and password.
    var secrets: [String] {
        let pair = user + ":" + password
        // Without a password the user is the secret: a token.
        return [pair, password.isEmpty ? user : password, Base64.encode(Array(pair.utf8))]
    }
}
