/// Makes regular expressions ready for searching (Behaviour S5). This is left to a library, which whoever builds a
/// ``Headgate`` hands in.
public protocol PatternCompiler {
    /// A pattern that is found anywhere in a text unless it says otherwise itself.
    ///
    /// Throws a fault that says what is wrong with the pattern.
    func compile(_ pattern: String, ignoreCase: Bool) throws(PatternFault) -> any PatternMatching
}

/// A regular expression that is ready for searching.
public protocol PatternMatching {
    /// Whether it is found in a text; nil when that cannot be said within reasonable time or memory. Clients choose the text,
    /// and none may hold up the service with it.
    func isFound(in text: String) -> Bool?
}

/// Why a regular expression cannot be used, for people.
public struct PatternFault: Error, Equatable, Sendable {
    public let message: String

    public init(_ message: String) {
        self.message = message
    }
}

/// Compiles each regular expression once, however many rules ask for it.
public final class PatternTable: PatternCompiler {
    private struct Key: Hashable {
        let pattern: String
        let ignoreCase: Bool
    }

    private let compiler: any PatternCompiler
    private var compiled: [Key: any PatternMatching] = [:]

    /// - Parameter compiler: makes what is not there yet.
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

/// Refuses every regular expression: what a ``Headgate`` has until it is given a library.
struct NoPatternCompiler: PatternCompiler {
    func compile(_ pattern: String, ignoreCase: Bool) throws(PatternFault) -> any PatternMatching {
        throw PatternFault("this program has no regular expressions")
    }
}
