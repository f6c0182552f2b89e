/// Any JSON value.
public enum DataItem: Sendable, Equatable {
    /// JSON's `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number with all its digits.
    case number(DataNumber)
    /// A string, unescaped.
    case string(String)
    /// Values in their order.
    case array([DataItem])
    /// Members in their order.
    case object(DataObject)

    /// The value as a `T`; nil when it is something else.
    public func get<T: DataItemConvertible>(as type: T.Type = T.self) -> T? {
        T(dataItem: self)
    }

    /// Whether this is JSON's `null`.
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

/// A type that can be read from a JSON value.
public protocol DataItemConvertible {
    /// The value as this type; nil when the JSON value is of another kind or out of range.
    init?(dataItem: DataItem)
}

extension DataItem: DataItemConvertible {
    public init?(dataItem: DataItem) {
        self = dataItem
    }
}

extension String: DataItemConvertible {
    public init?(dataItem: DataItem) {
        guard case .string(let string) = dataItem else { return nil }
        self = string
    }
}

extension Bool: DataItemConvertible {
    public init?(dataItem: DataItem) {
        guard case .bool(let bool) = dataItem else { return nil }
        self = bool
    }
}

extension Double: DataItemConvertible {
    public init?(dataItem: DataItem) {
        guard case .number(let number) = dataItem, let double = number.double else { return nil }
        self = double
    }
}

extension DataObject: DataItemConvertible {
    public init?(dataItem: DataItem) {
        guard case .object(let object) = dataItem else { return nil }
        self = object
    }
}

extension Array: DataItemConvertible where Element: DataItemConvertible {
    /// Nil when it is no array, or when one of its elements is no `Element`.
    public init?(dataItem: DataItem) {
        guard case .array(let items) = dataItem else { return nil }
        self = []
        reserveCapacity(items.count)
        for item in items {
            guard let element = Element(dataItem: item) else { return nil }
            append(element)
        }
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

    /// A whole number of any width.
    public init(_ whole: some FixedWidthInteger) {
        text = String(whole)
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

    /// The value, when it is a whole number that fits: `7`, and also `7.0` and `7e2`. Nothing is rounded.
    public var int: Int? {
        whole(as: Int.self)
    }

    /// The value as a whole number of some width, as ``int`` is it.
    func whole<Whole: FixedWidthInteger>(as type: Whole.Type) -> Whole? {
        Whole(text) ?? WrittenNumber(text).whole()
    }

    /// The nearest value a `Double` has; nil when the number is out of its range.
    public var double: Double? {
        guard let value = Double(text), value.isFinite else { return nil }
        return value
    }
}

/// A number in JSON's grammar, taken apart: its digits with no zero at either end, and how many places they stand left of
/// the decimal point.
struct WrittenNumber {
    let isNegative: Bool
    private(set) var digits: Substring
    private(set) var places: Int

    init(_ text: String) {
        isNegative = text.hasPrefix("-")
        let mantissa = text.dropFirst(isNegative ? 1 : 0).prefix { $0 != "e" && $0 != "E" }
        let fraction = mantissa.drop { $0 != "." }.dropFirst()
        digits = (mantissa.prefix { $0 != "." } + fraction).drop { $0 == "0" }
        places = WrittenNumber.exponent(text[mantissa.endIndex...].dropFirst()) - fraction.count
        while digits.last == "0" {
            digits.removeLast()
            places += 1
        }
    }

    /// The widest number, of 128 bits, has one digit and 38 more.
    private static let greatestPlaces = 38

    /// One beyond all sense counts as the largest that makes sense.
    private static func exponent(_ text: Substring) -> Int {
        guard !text.isEmpty else { return 0 }
        let most = 1 << 60
        return max(-most, min(Int(text) ?? (text.hasPrefix("-") ? -most : most), most))
    }

    /// The value; nil where it is not whole, or too large.
    func whole<Whole: FixedWidthInteger>() -> Whole? {
        guard !digits.isEmpty else { return 0 }
        guard (0...WrittenNumber.greatestPlaces).contains(places) else { return nil }
        return Whole((isNegative ? "-" : "") + digits + String(repeating: "0", count: places))
    }
}
