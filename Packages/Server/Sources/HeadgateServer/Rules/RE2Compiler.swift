import CRE2
import HeadgateCore

/// Regular expressions (Behaviour S5) by RE2, in its syntax: neither back-references nor look-around, which nobody can
/// search for in bounded time.
struct RE2Compiler: PatternCompiler {
    /// Roughly how many bytes a pattern may take, with what is remembered from its searches. Room for any sensible one.
    private static let mostMemory: Int64 = 2 << 20

    func compile(_ pattern: String, ignoreCase: Bool) throws(PatternFault) -> any PatternMatching {
        var pattern = pattern
        let compiled = pattern.withUTF8 {
            hg_pattern_create($0.baseAddress, $0.count, ignoreCase, RE2Compiler.mostMemory)
        }
        guard let compiled else { throw PatternFault("there is no memory for it") }
        guard let error = hg_pattern_error(compiled) else { return RE2Pattern(compiled) }
        defer { hg_pattern_destroy(compiled) }
        throw PatternFault(String(cString: error))
    }
}
