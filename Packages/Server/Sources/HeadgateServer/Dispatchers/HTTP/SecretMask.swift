/// Blanks secrets out of what others say (Behaviour X4).
struct SecretMask {
    /// Longest first, so that none is blanked in part only because a shorter one lies inside.
    private let secrets: [[UInt8]]

    init(_ secrets: some Sequence<String>) {
        let distinct = Set(secrets.map { Array($0.utf8) }.filter { !$0.isEmpty })
        self.secrets = distinct.sorted { $0.count > $1.count }
    }

    /// How many bytes beyond an excerpt must be known to find each secret that begins in it.
    var longest: Int {
        secrets.first?.count ?? 0
    }

    /// The first `limit` bytes as text, `***` in each secret's place, and what is no UTF-8 repaired.
    /// - Parameter isCut: Whether there was more behind `bytes`, so that they may end inside a secret.
    func excerpt(of bytes: [UInt8], isCut: Bool, limit: Int) -> String {
        var masked: [UInt8] = []
        var position = 0
        while position < bytes.count, masked.count <= limit {
            if let secret = secret(at: position, of: bytes, isCut: isCut) {
                masked.append(contentsOf: "***".utf8)
                position += secret.count
            } else {
                masked.append(bytes[position])
                position += 1
            }
        }
        return Self.text(masked, limit: limit)
    }

    private func secret(at position: Int, of bytes: [UInt8], isCut: Bool) -> [UInt8]? {
        let rest = bytes[position...]
        return secrets.first { secret in
            rest.starts(with: secret) || (isCut && secret.starts(with: rest))
        }
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
