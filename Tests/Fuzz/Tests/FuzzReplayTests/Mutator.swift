import HeadgateSeeds

/// Creates new inputs from those of a corpus, by a few random changes to one of them.
struct Mutator {
    private let corpus: [[UInt8]]
    private var random: SeededRandom

    private static let longest = 4096
    /// Tokens that have a meaning in one of the formats.
    private static let words: [[UInt8]] = [
        "{", "}", "[", "]", ":", ",", "\"", "\\", "\\u", "\\ud800", "\\udc00", "null", "true", "false", "0", "-0",
        "1e999",
        "0.1", "18446744073709551616", "\n", "\r\n", "\r", " ", "\t", "\0", "//", "/*", "*/", "\u{FEFF}", "\u{1F600}",
        "\"jsonrpc\":\"2.0\"", "\"id\":", "\"method\":", "\"params\":{", "\"result\":", "\"error\":", "all",
        "dispatchers",
        "barriers", "load_rules", "kind", "equals", "2026-02-29T24:00:60Z",
    ].map { Array($0.utf8) }

    init(corpus: [[UInt8]], seed: Seed) {
        self.corpus = corpus
        random = SeededRandom(seed: seed)
    }

    mutating func next() -> [UInt8] {
        var bytes = corpus.randomElement(using: &random) ?? []
        for _ in 0...Int.random(in: 0..<6, using: &random) { change(&bytes) }
        return Array(bytes.prefix(Mutator.longest))
    }

    private mutating func change(_ bytes: inout [UInt8]) {
        let index = Int.random(in: 0...bytes.count, using: &random)
        let piece = piece(of: bytes)
        switch Int.random(in: 0..<8, using: &random) {
        case 0: bytes.removeSubrange(piece)
        case 1: bytes.insert(contentsOf: bytes[piece], at: index)
        case 2: bytes.insert(contentsOf: Mutator.words.randomElement(using: &random) ?? [], at: index)
        case 3: bytes.replaceSubrange(piece, with: Mutator.words.randomElement(using: &random) ?? [])
        case 4: splice(into: &bytes, at: index)
        case 5: bytes.insert(.random(in: 0...255, using: &random), at: index)
        case 6: bytes.removeSubrange(index...)
        default:
            guard index < bytes.count else { return }
            bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        }
    }

    private mutating func splice(into bytes: inout [UInt8], at index: Int) {
        let other = corpus.randomElement(using: &random) ?? []
        bytes.insert(contentsOf: other[piece(of: other)], at: index)
    }

    /// Returns a random range of at most 64 bytes.
    private mutating func piece(of bytes: [UInt8]) -> Range<Int> {
        let start = Int.random(in: 0...bytes.count, using: &random)
        let length = Int.random(in: 0...min(64, bytes.count - start), using: &random)
        return start..<start + length
    }
}
