import HeadgateData

/// A number in one form only: its digits with no zero at either end, and where they begin. `0.d₁d₂… × 10^exponent`.
struct ExactDecimal: Equatable {
    private(set) var isNegative = false
    /// Empty for zero.
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

    /// An exponent with more digits than any sensible one stands at the end of the scale.
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
