/// Reads a regular expression.
struct PatternParser {
    private let source: [Unicode.Scalar]
    private var place = 0
    private var depth = 0
    /// Whether the pattern does not regard case.
    private(set) var ignoreCase: Bool

    /// How deep groups may be nested.
    private static let mostDepth = 64
    /// The most that a piece may be repeated by count.
    private static let mostRepeats = 1000

    init(_ text: String, ignoreCase: Bool) {
        source = Array(text.unicodeScalars)
        self.ignoreCase = ignoreCase
    }

    mutating func parse() throws(PatternFault) -> PatternNode {
        if skip("(?i)") { ignoreCase = true }
        let node = try either()
        guard place == source.count else { throw PatternFault("has a `)` without a `(`") }
        return node
    }

    // MARK: Characters

    var next: Unicode.Scalar? { place < source.count ? source[place] : nil }

    mutating func take() -> Unicode.Scalar? {
        guard let scalar = next else { return nil }
        place += 1
        return scalar
    }

    mutating func skip(_ text: String) -> Bool {
        let wanted = text.unicodeScalars
        guard source[place...].starts(with: wanted) else { return false }
        place += wanted.count
        return true
    }

    // MARK: Structure

    private mutating func either() throws(PatternFault) -> PatternNode {
        var branches = [try sequence()]
        while skip("|") { branches.append(try sequence()) }
        return branches.count == 1 ? branches[0] : .either(branches)
    }

    private mutating func sequence() throws(PatternFault) -> PatternNode {
        var pieces: [PatternNode] = []
        while let scalar = next, scalar != "|", scalar != ")" {
            pieces.append(try repeated(try piece()))
        }
        return pieces.count == 1 ? pieces[0] : .sequence(pieces)
    }

    private mutating func piece() throws(PatternFault) -> PatternNode {
        guard let scalar = take() else { throw PatternFault("ends too early") }
        switch scalar {
        case "(": return try group()
        case "[": return .character(try bracket())
        case ".": return .character(.any)
        case "^": return .place(.start)
        case "$": return .place(.end)
        case "\\": return try escape()
        case "*", "+", "?": throw PatternFault("has a `\(scalar)` with nothing to repeat")
        default: return .character(CharacterSet(scalar))
        }
    }

    private mutating func group() throws(PatternFault) -> PatternNode {
        if next == "?", !skip("?:") {
            throw PatternFault("has a group `(?…`: only `(?:…)`, and `(?i)` in front, are supported")
        }
        depth += 1
        defer { depth -= 1 }
        guard depth <= PatternParser.mostDepth else { throw PatternFault("is nested too deep") }
        let node = try either()
        guard skip(")") else { throw PatternFault("has a `(` without a `)`") }
        return node
    }

    // MARK: Repeating

    private mutating func repeated(_ node: PatternNode) throws(PatternFault) -> PatternNode {
        guard let (least, most) = try count() else { return node }
        // Lazy or not makes a difference to what is found, not to whether it is.
        _ = skip("?")
        guard try count() == nil else { throw PatternFault("repeats what is repeated: use a group") }
        return .repeated(node, least: least, most: most)
    }

    private mutating func count() throws(PatternFault) -> (least: Int, most: Int?)? {
        if skip("*") { return (0, nil) }
        if skip("+") { return (1, nil) }
        if skip("?") { return (0, 1) }
        let start = place
        guard let range = braces() else {
            // A brace that counts nothing is a character like any other.
            place = start
            return nil
        }
        guard max(range.least, range.most ?? 0) <= PatternParser.mostRepeats else {
            throw PatternFault("repeats something more than \(PatternParser.mostRepeats) times")
        }
        guard range.most ?? .max >= range.least else {
            throw PatternFault("repeats something from more to fewer times")
        }
        return range
    }

    private mutating func braces() -> (least: Int, most: Int?)? {
        guard skip("{"), let least = number() else { return nil }
        if skip("}") { return (least, least) }
        guard skip(",") else { return nil }
        if skip("}") { return (least, nil) }
        guard let most = number(), skip("}") else { return nil }
        return (least, most)
    }

    /// More digits than any allowed number has stand for one that is not allowed.
    private mutating func number() -> Int? {
        var digits = ""
        while let scalar = next, ("0"..."9").contains(scalar) {
            digits.unicodeScalars.append(scalar)
            place += 1
        }
        return digits.isEmpty ? nil : Int(digits) ?? .max
    }
}
