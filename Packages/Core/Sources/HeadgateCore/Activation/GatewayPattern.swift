/// The boards that a gateway rule is for: a name, or a prefix and `*` (Behaviour A7).
public struct GatewayPattern: Hashable, Sendable {
    /// As it was written: `auth`, `shop.*`, `*`.
    public let text: String

    /// Nil when it is neither a board's name nor a prefix of one with a `*` behind it.
    public init?(_ text: String) {
        let name = text.hasSuffix("*") ? String(text.dropLast()) : text
        guard name.isEmpty ? text == "*" : BoardName.complaint(about: name) == nil else { return nil }
        self.text = text
    }

    var isPrefix: Bool { text.hasSuffix("*") }

    func matches(_ board: String) -> Bool {
        isPrefix ? board.utf8.starts(with: text.utf8.dropLast()) : board == text
    }
}
