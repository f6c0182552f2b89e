import HeadgateData

/// Texts that many events share, each kept once under a number: names of events, namespaces, causes of failures. Pure.
///
/// There are two generations of texts. When the newer one is full, the older one is forgotten and its numbers become
/// invalid. Memory is thus bounded whatever clients send, and texts in use are kept. Before the numbers are used up they
/// begin at 1 again: the texts that had the lowest numbers were forgotten long ago.
struct InternedTexts {
    /// The number of a text; 0 for none.
    typealias Number = UInt32

    private var current: Half
    private var previous = Half(base: 1)
    private var numbers: [UInt64: Number] = [:]
    /// A cache of recent lookups by the low bits of the hash. Most events have the name of an earlier one.
    private var recent = [Recent](repeating: Recent(), count: InternedTexts.recentCount)
    private let most: Int
    private let hash: TraceHash

    private struct Half {
        /// The number of the generation's first text.
        let base: Number
        var words: [String] = []

        subscript(number: Number) -> String? {
            number >= base && Int(number - base) < words.count ? words[Int(number - base)] : nil
        }
    }

    private struct Recent {
        var hash: UInt64 = 0
        var number: Number = 0
    }

    private static let recentCount = 64
    /// The longest text that is kept whole, in bytes.
    private let longest: Int

    /// - Parameters:
    ///   - most: the most texts per generation.
    ///   - longest: the longest text that is kept whole, in bytes.
    ///   - first: the number of the first text.
    init(most: Int, longest: Int = 128, hash: TraceHash, first: Number = 1) {
        current = Half(base: first)
        self.most = most
        self.longest = longest
        self.hash = hash
    }

    /// Returns the number of a text, which is added if it is new.
    mutating func number(of word: UnsafeRawBufferPointer) -> Number {
        let digest = hash.of(word)
        let slot = Int(truncatingIfNeeded: digest) & (InternedTexts.recentCount - 1)
        if recent[slot].hash == digest, recent[slot].number != 0 { return recent[slot].number }
        let number = numbers[digest] ?? add(word, digest)
        recent[slot] = Recent(hash: digest, number: number)
        return number
    }

    /// Returns the number of a string, which is added if it is new.
    mutating func number(of word: String) -> Number {
        var word = word
        return word.withUTF8 { number(of: UnsafeRawBufferPointer($0)) }
    }

    /// The text of a number; nil for 0 and for a forgotten text.
    subscript(number: Number) -> String? { current[number] ?? previous[number] }

    /// All known texts, the newest last.
    var all: [String] { previous.words + current.words }

    private mutating func add(_ word: UnsafeRawBufferPointer, _ digest: UInt64) -> Number {
        if current.words.count >= most { turnOver() }
        let number = current.base + Number(current.words.count)
        current.words.append(text(word))
        numbers[digest] = number
        return number
    }

    private mutating func turnOver() {
        previous = current
        let (base, isOver) = previous.base.addingReportingOverflow(Number(2 * most))
        current = Half(base: isOver ? 1 : base - Number(most))
        numbers = [:]
        recent = [Recent](repeating: Recent(), count: InternedTexts.recentCount)
    }

    private func text(_ word: UnsafeRawBufferPointer) -> String {
        guard word.count > longest else { return String(decoding: word, as: UTF8.self) }
        return String(decoding: word[..<longest], as: UTF8.self) + "…"
    }
}

/// A fast hash with a secret key, for finding an id among some ten thousand events, or a text among some thousand.
/// Accidental collisions of 64 bits are negligible.
struct TraceHash {
    private let seed: UInt64
    /// A second secret, derived from the seed. It prevents clients from choosing an input that makes a factor zero.
    private let secret: UInt64

    /// - Parameter seed: a random number, so that no client can construct collisions.
    init(seed: UInt64) {
        self.seed = seed | 1
        secret = TraceHash.fold(seed | 1, 0x9E37_79B9_7F4A_7C15) ^ 0xD6E8_FEB8_6659_FD93
    }

    func of(_ bytes: UnsafeRawBufferPointer) -> UInt64 { visit(bytes) { _ in } }

    /// Returns the hash of the decoded text of a JSON string.
    func ofJSONString(_ string: UnsafeRawBufferPointer) -> UInt64 {
        guard string.count >= 2 else { return of(string) }
        let spelled = UnsafeRawBufferPointer(rebasing: string[1..<string.count - 1])
        // While hashing the undecoded text, check for escapes. Nearly always there are none.
        var escapes: UInt64 = 0
        let digest = visit(spelled) { escapes |= TraceHash.backslashes($0) }
        guard escapes != 0 else { return digest }
        var plain: [UInt8] = []
        JSONUnescaper(spelled).append(to: &plain)
        return plain.withUnsafeBytes(of)
    }

    /// Hashes bytes, sixteen at a time. `take` gets each word.
    @inline(__always)
    private func visit(_ bytes: UnsafeRawBufferPointer, _ take: (UInt64) -> Void) -> UInt64 {
        var state = seed &+ UInt64(truncatingIfNeeded: bytes.count)
        var offset = 0
        while bytes.count &- offset > 16 {
            state = mix(state, TraceHash.word(bytes, offset), TraceHash.word(bytes, offset &+ 8), take)
            offset &+= 16
        }
        let (first, second) = TraceHash.end(of: bytes)
        return TraceHash.fold(mix(state, first, second, take), seed)
    }

    @inline(__always)
    private func mix(_ state: UInt64, _ first: UInt64, _ second: UInt64, _ take: (UInt64) -> Void) -> UInt64 {
        take(first)
        take(second)
        return TraceHash.fold(state ^ first, second ^ secret)
    }

    /// Returns the last sixteen bytes, which may overlap with bytes already hashed, or all bytes if there are fewer.
    @inline(__always)
    private static func end(of bytes: UnsafeRawBufferPointer) -> (UInt64, UInt64) {
        if bytes.count >= 16 { return (word(bytes, bytes.count &- 16), word(bytes, bytes.count &- 8)) }
        if bytes.count >= 8 { return (word(bytes, 0), word(bytes, bytes.count &- 8)) }
        return (bytes.reduce(0) { $0 << 8 | UInt64($1) }, 0)
    }

    @inline(__always)
    private static func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
        bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    }

    /// Returns a non-zero value if one of eight bytes is a backslash (Hacker's Delight, 6-1).
    private static func backslashes(_ word: UInt64) -> UInt64 {
        let rest = word ^ 0x5C5C_5C5C_5C5C_5C5C
        return (rest &- 0x0101_0101_0101_0101) & ~rest & 0x8080_8080_8080_8080
    }

    private static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}
