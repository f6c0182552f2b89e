/// The rule for the names of headers.
enum HeaderName {
    /// Headers that the dispatcher sets itself. A wrong value would let one request be read as two.
    private static let reserved: Set<String> = ["content-length", "transfer-encoding"]

    /// Returns the fault of a name, or nil if the name is valid.
    static func problem(about name: String) -> String? {
        if reserved.contains(name.lowercased()) { return "is set by the dispatcher itself" }
        if !name.isEmpty, name.utf8.allSatisfy(isAllowed) { return nil }
        return "must be a header's name: letters, digits, and none of the separators of HTTP"
    }

    /// Returns true if a header of this name counts as a secret even if its value is in the settings (Behaviour X4).
    static func soundsSecret(_ name: String) -> Bool {
        let name = name.lowercased()
        return secretWords.contains { name.contains($0) }
    }

    /// The word `auth` covers `Authorization`.
    private static let secretWords = [
        "auth", "cookie", "credential", "key", "pass", "secret", "session", "signature", "token",
    ]

    /// Returns true for a character of a `token` in RFC 9110.
    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
