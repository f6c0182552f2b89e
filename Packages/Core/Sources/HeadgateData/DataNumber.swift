/// A JSON number, kept as it was written, so that no digit is lost on the way through (Behaviour P6).
///
/// Two numbers are equal when they are written alike: `1` and `1.0` are not.
public struct DataNumber: Sendable, Hashable {
    /// The number in JSON's grammar, exactly as its sender wrote it.
    public let text: String

    /// A whole number.
    public init(_ int: Int) {
        text = String(int)
    }

    /// A finite number, written with as many digits as bring back the same value.
    ///
    /// JSON has no infinity and no NaN: handing one in is a mistake in the program and stops it.
    public init(_ double: Double) {
        precondition(double.isFinite, "JSON has no number for \(double)")
        text = double.description
    }

    /// A number whose text is already known to be in JSON's grammar.
    public init(unchecked text: String) {
        self.text = text
    }

    /// The value, when it is a whole number that fits: `7`, and also `7.0` and `7e2`.
    public var int: Int? {
        if let whole = Int(text) { return whole }
        guard let value = double, value.magnitude <= DataNumber.largestExactWhole else { return nil }
        return Int(exactly: value)
    }

    /// The nearest value a `Double` has; nil when the number is out of its range.
    public var double: Double? {
        guard let value = Double(text), value.isFinite else { return nil }
        return value
    }

    /// 2⁵³: up to here every whole number is a `Double` of its own, so that nothing is taken for whole by rounding.
    private static let largestExactWhole = 9_007_199_254_740_992.0
}
