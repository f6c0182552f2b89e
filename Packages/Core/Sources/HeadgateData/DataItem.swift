/// Any JSON value.
public enum DataItem: Sendable {
    /// JSON's `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number with all its digits.
    case number(DataNumber)
    /// A string without quotes and escapes.
    case string(String)
    /// An array of values.
    case array([DataItem])
    /// An object with its members in order.
    case object(DataObject)

    /// Returns the value as a `T`, or nil if the value is of another type.
    public func get<T: DataItemConvertible>(as type: T.Type = T.self) -> T? {
        T(dataItem: self)
    }

    /// True if the value is JSON's `null`.
    public var isNull: Bool {
        self == .null
    }

    /// The value as JSON text, without spaces.
    public var json: String {
        var writer = JSONWriter()
        writer.item(self)
        return writer.text
    }
}

extension DataItem: ExpressibleByNilLiteral {
    public init(nilLiteral: ()) {
        self = .null
    }
}

extension DataItem: ExpressibleByBooleanLiteral {
    public init(booleanLiteral value: Bool) {
        self = .bool(value)
    }
}

extension DataItem: ExpressibleByIntegerLiteral {
    public init(integerLiteral value: Int) {
        self = .number(DataNumber(value))
    }
}

extension DataItem: ExpressibleByFloatLiteral {
    public init(floatLiteral value: Double) {
        self = .number(DataNumber(value))
    }
}

extension DataItem: ExpressibleByStringLiteral, ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) {
        self = .string(value)
    }
}

extension DataItem: ExpressibleByArrayLiteral {
    public init(arrayLiteral elements: DataItem...) {
        self = .array(elements)
    }
}

extension DataItem: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (String, DataItem)...) {
        self = .object(DataObject(elements))
    }
}

/// A JSON number as text, so that no digit is lost between client and destination (Behaviour P6).
///
/// Two numbers are equal if their texts are equal: `1` and `1.0` are different.
public struct DataNumber: Sendable, Hashable {
    /// The number in JSON's grammar, exactly as its sender wrote it.
    public let text: String

    /// Creates a whole number.
    public init(_ int: Int) {
        text = String(int)
    }

    /// Creates a whole number of any width.
    public init(_ whole: some FixedWidthInteger) {
        text = String(whole)
    }

    /// Creates a number with as many digits as are needed to read the same value back.
    ///
    /// - Precondition: the number is finite. JSON has no infinity and no NaN.
    public init(_ double: Double) {
        precondition(double.isFinite, "JSON has no number for \(double)")
        text = double.description
    }

    /// Creates a number from a text that is known to follow JSON's grammar.
    public init(unchecked text: String) {
        self.text = text
    }

    /// The value as an `Int`; nil if the value has a fraction or is out of range. `7`, `7.0` and `7e2` are whole
    /// numbers.
    public var int: Int? {
        whole(as: Int.self)
    }

    /// Returns the value as a whole number of another type, by the rules of ``int``.
    func whole<Whole: FixedWidthInteger>(as type: Whole.Type) -> Whole? {
        Whole(text) ?? WrittenNumber(text).whole()
    }

    /// The nearest `Double`; nil if the number is out of range.
    public var double: Double? {
        guard let value = Double(text), value.isFinite else { return nil }
        return value
    }
}

/// A JSON number split into a sign, its digits without zeros at either end, and a decimal exponent. The value is
/// `digits` × 10^`exponent`.
public struct WrittenNumber {
    /// True if the number has a minus sign.
    public let isNegative: Bool
    /// The digits from the first to the last that is not zero; empty for the number 0.
    public private(set) var digits: Substring
    /// The decimal exponent of the last digit.
    public private(set) var exponent: Int

    /// Splits a text that is known to follow JSON's grammar.
    public init(_ text: String) {
        isNegative = text.hasPrefix("-")
        let mantissa = text.dropFirst(isNegative ? 1 : 0).prefix { $0 != "e" && $0 != "E" }
        let fraction = mantissa.drop { $0 != "." }.dropFirst()
        digits = (mantissa.prefix { $0 != "." } + fraction).drop { $0 == "0" }
        exponent = WrittenNumber.exponent(text[mantissa.endIndex...].dropFirst()) - fraction.count
        while digits.last == "0" {
            digits.removeLast()
            exponent += 1
        }
    }

    /// The largest exponent of a number that fits into 128 bits: such a number has at most 39 digits.
    private static let greatestExponent = 38

    /// Returns the exponent, limited to ±2^60.
    private static func exponent(_ text: Substring) -> Int {
        guard !text.isEmpty else { return 0 }
        let most = 1 << 60
        return max(-most, min(Int(text) ?? (text.hasPrefix("-") ? -most : most), most))
    }

    /// Returns the value as a whole number, or nil if the value has a fraction or is out of range.
    func whole<Whole: FixedWidthInteger>() -> Whole? {
        guard !digits.isEmpty else { return 0 }
        guard (0...WrittenNumber.greatestExponent).contains(exponent) else { return nil }
        return Whole((isNegative ? "-" : "") + digits + String(repeating: "0", count: exponent))
    }
}

/// Strings are compared by their bytes, as JSON has them: those of Swift are equal when they look alike.
extension DataItem: Equatable {
    public static func == (left: DataItem, right: DataItem) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.number(let left), .number(let right)): left == right
        case (.string(let left), .string(let right)): ExactName(left) == ExactName(right)
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        case (.null, _), (.bool, _), (.number, _), (.string, _), (.array, _), (.object, _): false
        }
    }
}
