/// What may name a board.
public enum BoardName {
    /// The most bytes that a name may have.
    public static let longest = 128

    /// What is wrong with a name; nil when it will do. The `*` is left to the gateways' patterns.
    public static func complaint(about name: String) -> String? {
        let isAllowed = name.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F && $0 != "*" }
        if (1...longest).contains(name.utf8.count), isAllowed { return nil }
        return "a board's name has 1 to \(longest) bytes, no * and no control characters"
    }
}
