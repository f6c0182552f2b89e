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
