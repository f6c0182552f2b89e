import HeadgateCore

/// Stands in for a library of regular expressions: a pattern is found where it stands, letter by letter. One with a `(` is
/// refused, and one with a `?` never gets to an end.
public final class LiteralPatterns: PatternCompiler {
    /// How often something was compiled.
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
