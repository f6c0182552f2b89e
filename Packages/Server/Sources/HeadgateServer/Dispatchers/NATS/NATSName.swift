/// What may name things of NATS.
enum NATSName {
    /// The most bytes that a subject or a stream's name may have.
    private static let longest = 255

    /// What is wrong with a subject to publish to; nil when it will do. A wildcard can be listened on only, and what
    /// begins with `$` is the servers' own: a stream never takes it.
    static func complaint(aboutSubject subject: String) -> String? {
        let tokens = subject.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard (1...longest).contains(subject.utf8.count), tokens.allSatisfy({ !$0.isEmpty && $0.allSatisfy(isVisible) })
        else { return "must be words with dots between them, without spaces" }
        if tokens.contains(where: { $0.elementsEqual("*".utf8) || $0.elementsEqual(">".utf8) }) {
            return "must be without wildcards"
        }
        return subject.hasPrefix("$") ? "must not begin with `$`, which is the servers' own" : nil
    }

    /// What is wrong with a stream's name; nil when it will do.
    static func complaint(aboutStream name: String) -> String? {
        let isAllowed = { (byte: UInt8) in isVisible(byte) && !".*>/\\".utf8.contains(byte) }
        if (1...longest).contains(name.utf8.count), name.utf8.allSatisfy(isAllowed) { return nil }
        return #"must be a name without spaces, `.`, `*`, `>`, `/` and `\`"#
    }

    /// Bytes of characters beyond ASCII are all taken.
    private static func isVisible(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte != 0x7F
    }
}
