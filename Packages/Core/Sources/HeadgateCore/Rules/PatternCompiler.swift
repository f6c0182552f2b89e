/// A compiler of regular expressions (Behaviour S5). Core has no library for them: the program that creates a
/// ``Headgate`` provides one.
public protocol PatternCompiler {
    /// Compiles a pattern. It matches anywhere in a text, unless the pattern is anchored.
    /// - Throws: a fault that describes the problem of the pattern.
    func compile(_ pattern: String, ignoreCase: Bool) throws(PatternFault) -> any PatternMatching
}

/// A compiled regular expression.
public protocol PatternMatching {
    /// Returns true if the pattern matches a text, or nil if matching would take too much time or memory. Clients
    /// choose the text, and must not be able to block the service.
    func isFound(in text: String) -> Bool?
}

/// The reason why a regular expression is invalid, for people.
public struct PatternFault: Error, Equatable, Sendable {
    public let message: String

    public init(_ message: String) {
        self.message = message
    }
}

/// A cache that compiles each regular expression once.
public final class PatternTable: PatternCompiler {
    private struct Key: Hashable {
        let pattern: String
        let ignoreCase: Bool
    }

    private let compiler: any PatternCompiler
    private var compiled: [Key: any PatternMatching] = [:]

    /// - Parameter compiler: compiles patterns that are not in the cache.
    public init(_ compiler: any PatternCompiler) {
        self.compiler = compiler
    }

    public func compile(_ pattern: String, ignoreCase: Bool) throws(PatternFault) -> any PatternMatching {
        let key = Key(pattern: pattern, ignoreCase: ignoreCase)
        if let known = compiled[key] { return known }
        let new = try compiler.compile(pattern, ignoreCase: ignoreCase)
        compiled[key] = new
        return new
    }
}

/// A compiler that refuses every regular expression: the default of a ``Headgate``.
struct NoPatternCompiler: PatternCompiler {
    func compile(_ pattern: String, ignoreCase: Bool) throws(PatternFault) -> any PatternMatching {
        throw PatternFault("this program has no regular expressions")
    }
}
