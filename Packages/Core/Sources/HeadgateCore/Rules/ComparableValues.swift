import HeadgateData

/// A JSON number that is compared by its exact value in any notation: `100`, `1e2` and `100.0` are equal, and no digit
/// is lost to rounding.
struct NumericValue: Sendable {
    private let number: DataNumber
    /// The value if it is a plain whole number in the range of `Int`, as most are; otherwise nil.
    private let whole: Int?

    init(_ number: DataNumber) {
        self.number = number
        whole = Int(number.text)
    }
}

extension NumericValue: Comparable {
    static func == (left: NumericValue, right: NumericValue) -> Bool {
        if let left = left.whole, let right = right.whole { return left == right }
        return ExactDecimal(left.number) == ExactDecimal(right.number)
    }

    static func < (left: NumericValue, right: NumericValue) -> Bool {
        if let left = left.whole, let right = right.whole { return left < right }
        return ExactDecimal(left.number) < ExactDecimal(right.number)
    }
}

/// A relation between two numbers.
enum NumberRelation: Sendable {
    case equal
    case greater
    case greaterOrEqual
    case less
    case lessOrEqual

    /// Returns true if `number` has this relation to `operand`.
    func holds(_ number: NumericValue, _ operand: NumericValue) -> Bool {
        switch self {
        case .equal: number == operand
        case .greater: number > operand
        case .greaterOrEqual: number >= operand
        case .less: number < operand
        case .lessOrEqual: number <= operand
        }
    }
}

/// A number in normalised form: `0.d₁d₂… × 10^exponent`, with no zero at either end of the digits.
struct ExactDecimal: Equatable {
    private(set) var isNegative = false
    /// The digits; empty for zero.
    private(set) var digits: [UInt8] = []
    private(set) var exponent = 0

    init(_ number: DataNumber) {
        var rest = Array(number.text.utf8)[...]
        isNegative = rest.first == UInt8(ascii: "-")
        if isNegative { rest.removeFirst() }
        let isMark: (UInt8) -> Bool = { $0 == UInt8(ascii: "e") || $0 == UInt8(ascii: "E") }
        let mantissa = rest.prefix { !isMark($0) }
        let whole = mantissa.prefix { $0 != UInt8(ascii: ".") }
        digits = Array(whole + mantissa.dropFirst(whole.count + 1))
        let scale = ExactDecimal.exponent(rest.dropFirst(mantissa.count + 1))
        exponent = whole.count.addingReportingOverflow(scale).partialValue
        normalise()
    }

    private mutating func normalise() {
        let leading = digits.prefix { $0 == UInt8(ascii: "0") }.count
        digits.removeFirst(leading)
        while digits.last == UInt8(ascii: "0") { digits.removeLast() }
        exponent -= leading
        guard digits.isEmpty else { return }
        exponent = 0
        isNegative = false
    }

    /// Returns the exponent. An exponent that is too large becomes the largest possible one.
    private static func exponent(_ text: ArraySlice<UInt8>) -> Int {
        guard !text.isEmpty else { return 0 }
        let text = String(decoding: text, as: UTF8.self)
        let limit = Int.max / 4
        guard let value = Int(text) else { return text.hasPrefix("-") ? -limit : limit }
        return min(max(value, -limit), limit)
    }
}

extension ExactDecimal: Comparable {
    static func < (left: ExactDecimal, right: ExactDecimal) -> Bool {
        if left.isNegative != right.isNegative { return left.isNegative }
        return left.isNegative ? right.isSmaller(than: left) : left.isSmaller(than: right)
    }

    private func isSmaller(than other: ExactDecimal) -> Bool {
        if digits.isEmpty || other.digits.isEmpty { return digits.isEmpty && !other.digits.isEmpty }
        if exponent != other.exponent { return exponent < other.exponent }
        return digits.lexicographicallyPrecedes(other.digits)
    }
}

/// A string to compare others with, by bytes or without regard to case. The case is folded once.
struct ComparableText: Sendable, Equatable {
    private let text: String
    private let ignoreCase: Bool

    init(_ text: String, ignoreCase: Bool) {
        self.text = ignoreCase ? ComparableText.folded(text) : text
        self.ignoreCase = ignoreCase
    }

    /// Calls `body` with the UTF-8 of another string and of this one, both folded if case is ignored.
    func compare(_ other: String, _ body: (UnsafeBufferPointer<UInt8>, UnsafeBufferPointer<UInt8>) -> Bool) -> Bool {
        var other = ignoreCase ? ComparableText.folded(other) : other
        var text = text
        return other.withUTF8 { other in text.withUTF8 { body(other, $0) } }
    }

    /// Returns the text with its case folded. Upper case comes first, because it unifies letters that lower case keeps
    /// apart, like the two small sigmas.
    private static func folded(_ text: String) -> String {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.lowercased() }
        return text.uppercased().lowercased()
    }
}

/// A relation between two strings.
enum TextRelation: Sendable {
    case equal
    case prefix
    case suffix
    case infix

    /// Returns true if `text` equals `operand`, begins with it, ends with it or contains it.
    func holds(_ text: String, _ operand: ComparableText) -> Bool {
        operand.compare(text) { text, operand in
            guard text.count >= operand.count else { return false }
            return switch self {
            case .equal: text.count == operand.count && text.starts(with: operand)
            case .prefix: text.starts(with: operand)
            case .suffix: text.suffix(operand.count).elementsEqual(operand)
            case .infix: TextRelation.contains(text, operand)
            }
        }
    }

    private static func contains(_ text: UnsafeBufferPointer<UInt8>, _ operand: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let first = operand.first else { return true }
        let starts = 0...(text.count - operand.count)
        return starts.contains { text[$0] == first && text[$0...].starts(with: operand) }
    }
}
