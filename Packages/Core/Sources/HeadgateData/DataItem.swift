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

extension Int: DataItemConvertible {
    public init?(dataItem: DataItem) {
        guard case .number(let number) = dataItem, let int = number.int else { return nil }
        self = int
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
