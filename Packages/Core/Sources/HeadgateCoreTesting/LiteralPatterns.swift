import HeadgateCore

/// A stand-in for a library of regular expressions: a pattern matches itself, letter by letter. A pattern with a `(` is
/// refused. One with a `?` takes too much time.
public final class LiteralPatterns: PatternCompiler {
    /// The number of compiled patterns.
    public private(set) var count = 0

    public init() {}

    public func compile(_ pattern: String, ignoreCase: Bool) throws(PatternFault) -> any PatternMatching {
        count += 1
        guard !pattern.contains("(") else { throw PatternFault("missing )") }
        return LiteralPattern(text: pattern, ignoreCase: ignoreCase)
    }
}

private struct LiteralPattern: PatternMatching {
    let text: String
    let ignoreCase: Bool

    func isFound(in text: String) -> Bool? {
        guard !self.text.contains("?") else { return nil }
        return ignoreCase ? text.lowercased().contains(self.text.lowercased()) : text.contains(self.text)
    }
}
