import CRE2
import HeadgateCore

/// Compiles regular expressions with RE2, in its syntax (Behaviour S5). RE2 has no back-references and no look-around,
/// because a search for them may take unbounded time.
struct RE2Compiler: PatternCompiler {
    /// The most memory, in bytes, for a compiled pattern and the cache of its searches. It is enough for any sensible
    /// pattern.
    private static let mostMemory: Int64 = 2 << 20

    func compile(_ pattern: String, ignoreCase: Bool) throws(PatternFault) -> any PatternMatching {
        var pattern = pattern
        let compiled = pattern.withUTF8 {
            hg_pattern_create($0.baseAddress, $0.count, ignoreCase, RE2Compiler.mostMemory)
        }
        guard let compiled else { throw PatternFault("not enough memory to compile the expression") }
        guard let error = hg_pattern_error(compiled) else { return RE2Pattern(compiled) }
        defer { hg_pattern_destroy(compiled) }
        throw PatternFault(String(cString: error))
    }
}

/// A regular expression that RE2 has compiled.
private final class RE2Pattern: PatternMatching {
    private let pattern: OpaquePointer
    private let size: Int

    /// The most work of one search: instructions of the pattern times bytes of the text.
    ///
    /// RE2 has no such bound itself. The worst search within the bound takes a fifth of a second. A usual pattern of
    /// thirty instructions may search a text of a million bytes.
    private static let mostWork = 1 << 25

    /// Takes ownership of a compiled pattern.
    init(_ pattern: OpaquePointer) {
        self.pattern = pattern
        size = hg_pattern_size(pattern)
    }

    deinit {
        hg_pattern_destroy(pattern)
    }

    func isFound(in text: String) -> Bool? {
        var text = text
        return text.withUTF8 { text in
            guard text.count <= RE2Pattern.mostWork / max(size, 1) else { return nil }
            return switch hg_pattern_search(pattern, text.baseAddress, text.count) {
            case HG_PATTERN_FOUND: true
            case HG_PATTERN_ABSENT: false
            default: nil
            }
        }
    }
}
