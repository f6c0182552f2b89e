/// What may name a header of a request.
enum HeaderName {
    /// Headers whose wrong value would make two requests of one.
    private static let ours: Set<String> = ["content-length", "transfer-encoding"]

    /// What is wrong with a name; nil when it will do.
    static func complaint(about name: String) -> String? {
        if ours.contains(name.lowercased()) { return "is set by the dispatcher itself" }
        if !name.isEmpty, name.utf8.allSatisfy(isAllowed) { return nil }
        return "a header's name has letters, digits, and none of the marks that mean something in HTTP"
    }

    /// Whether a header of this name is taken for a secret, though its value stands in the settings (Behaviour X4).
    static func soundsSecret(_ name: String) -> Bool {
        let name = name.lowercased()
        return secretWords.contains { name.contains($0) }
    }

    /// `auth` is in `Authorization` as well.
    private static let secretWords = [
        "auth", "cookie", "credential", "key", "pass", "secret", "session", "signature", "token",
    ]

    /// A character of a `token` as RFC 9110 has it.
    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
