extension PatternParser {
    // MARK: Escapes

    /// What stands behind a backslash outside of brackets.
    mutating func escape() throws(PatternFault) -> PatternNode {
        if skip("b") { return .place(.wordBoundary) }
        if skip("B") { return .place(.noWordBoundary) }
        if skip("A") { return .place(.start) }
        if skip("z") { return .place(.end) }
        return .character(try escapedCharacter())
    }

    private mutating func escapedCharacter() throws(PatternFault) -> CharacterSet {
        guard let letter = take() else { throw PatternFault("ends with a `\\`") }
        switch letter {
        case "d": return .digit
        case "D": return .digit.negated
        case "w": return .word
        case "W": return .word.negated
        case "s": return .space
        case "S": return .space.negated
        case "n": return CharacterSet("\n")
        case "r": return CharacterSet("\r")
        case "t": return CharacterSet("\t")
        case "f": return CharacterSet("\u{0C}")
        case "v": return CharacterSet("\u{0B}")
        case "x": return CharacterSet(try skip("{") ? hexadecimalInBraces() : hexadecimal(2))
        case "u": return CharacterSet(try hexadecimal(4))
        case "1"..."9": throw PatternFault("has a back-reference, which is not supported")
        case "0", "a"..."z", "A"..."Z": throw PatternFault("has an unknown escape `\\\(letter)`")
        default: return CharacterSet(letter)
        }
    }

    private mutating func hexadecimal(_ count: Int) throws(PatternFault) -> Unicode.Scalar {
        var digits = ""
        for _ in 0..<count {
            guard let digit = take() else { throw PatternFault("ends within an escape") }
            digits.unicodeScalars.append(digit)
        }
        return try scalar(digits)
    }

    private mutating func hexadecimalInBraces() throws(PatternFault) -> Unicode.Scalar {
        var digits = ""
        while let digit = next, digit != "}" {
            digits.unicodeScalars.append(digit)
            _ = take()
        }
        guard skip("}") else { throw PatternFault("ends within an escape") }
        return try scalar(digits)
    }

    private func scalar(_ digits: String) throws(PatternFault) -> Unicode.Scalar {
        let isHexadecimal = digits.unicodeScalars.allSatisfy(\.properties.isASCIIHexDigit)
        guard isHexadecimal, let value = UInt32(digits, radix: 16), let scalar = Unicode.Scalar(value) else {
            throw PatternFault("has an escape that is no character")
        }
        return scalar
    }

    // MARK: Brackets

    /// What stands behind a `[`.
    mutating func bracket() throws(PatternFault) -> CharacterSet {
        let isNegated = skip("^")
        var set: CharacterSet?
        // Right behind the opening, a `]` is a character like any other.
        while set == nil || next != "]" {
            let part = try bracketPart()
            set = set?.union(part) ?? part
        }
        _ = skip("]")
        // The loop has run at least once.
        let whole = set ?? CharacterSet([])
        return isNegated ? whole.negated : whole
    }

    private mutating func bracketPart() throws(PatternFault) -> CharacterSet {
        if skip("[:") { throw PatternFault("has a named class `[:…:]`, which is not supported") }
        let (set, first) = try bracketCharacter()
        guard let first, next == "-", !isRangeOpen else { return set }
        _ = skip("-")
        guard let last = try bracketCharacter().scalar, first <= last else {
            throw PatternFault("has a range in brackets that makes no sense")
        }
        return CharacterSet([first.value...last.value])
    }

    /// Whether a hyphen stands before the closing bracket, and thus for itself.
    private var isRangeOpen: Bool {
        var ahead = self
        return ahead.skip("-]")
    }

    /// A class, or one character, which may begin a range.
    private mutating func bracketCharacter() throws(PatternFault) -> (set: CharacterSet, scalar: Unicode.Scalar?) {
        guard let scalar = take() else { throw PatternFault("has a `[` without a `]`") }
        guard scalar == "\\" else { return (CharacterSet(scalar), scalar) }
        if skip("b") { throw PatternFault("has an unknown escape `\\b` in brackets") }
        let set = try escapedCharacter()
        return (set, set.onlyScalar)
    }
}
