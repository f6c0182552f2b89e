/// A regular expression that takes time in proportion to the text, whatever the pattern and the text are: clients choose
/// the text, and none may hold up the service with it.
///
/// It goes through the text once and follows all ways through the pattern side by side, as RE2 does. So it has no
/// back-references and no look-around. It has: `.` (any character but a line feed), `[…]`, `[^…]`, `\d \w \s` and their
/// contraries (ASCII, as in RE2), `\b \B`, `^ $ \A \z` (the ends of the text), `(…)`, `(?:…)`, `|`,
/// `* + ? {n} {n,} {n,m}` (a lazy mark behind them changes nothing here), `\n \r \t \f \v \xHH \x{…} \uHHHH`, and `(?i)` in
/// front. It is found anywhere in the text unless `^` and `$` hold it.
public struct Pattern: Sendable, Equatable {
    /// The pattern as it was written.
    public let text: String
    private let program: PatternProgram

    /// Throws a fault that says what is wrong with the pattern, or that it is too large.
    public init(_ text: String, ignoreCase: Bool = false) throws(PatternFault) {
        var parser = PatternParser(text, ignoreCase: ignoreCase)
        let node = try parser.parse()
        self.text = text
        program = try PatternProgram(node, ignoreCase: parser.ignoreCase)
    }

    /// The most steps that a search takes: about a tenth of a second. Most patterns take less than five for a character.
    static let mostSteps = 1 << 23

    /// Whether the pattern is found in a text; nil when text and pattern are so large that this would take too long.
    public func isFound(in text: String) -> Bool? {
        isFound(in: text, mostSteps: Pattern.mostSteps)
    }

    func isFound(in text: String, mostSteps: Int) -> Bool? {
        var search = PatternSearch(program, mostSteps: mostSteps)
        return search.run(text)
    }
}

/// What is wrong with a regular expression, for people.
public struct PatternFault: Error, Equatable, Sendable {
    public let message: String

    init(_ message: String) {
        self.message = message
    }
}
