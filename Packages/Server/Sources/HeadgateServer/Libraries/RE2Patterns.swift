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

/// A regular expression that RE2 has compiled.
private final class RE2Pattern: PatternMatching {
    private let pattern: OpaquePointer
    private let size: Int

    /// The most instructions, times bytes of the text, that a search is begun for. What is worst for RE2 then takes a fifth
    /// of a second, since it has no bound of its own; a pattern of thirty instructions, which is a usual one, gets through a
    /// text of a million bytes.
    private static let mostWork = 1 << 25

    /// Takes a compiled pattern over, to free it in the end.
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
