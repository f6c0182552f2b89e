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
