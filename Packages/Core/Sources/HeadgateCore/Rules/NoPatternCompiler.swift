/// Refuses every regular expression: what a ``Headgate`` has until it is given a library.
struct NoPatternCompiler: PatternCompiler {
    func compile(_ pattern: String, ignoreCase: Bool) throws(PatternFault) -> any PatternMatching {
        throw PatternFault("this program has no regular expressions")
    }
}
