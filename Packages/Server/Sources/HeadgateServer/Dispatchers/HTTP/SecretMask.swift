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
