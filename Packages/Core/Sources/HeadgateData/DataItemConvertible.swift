/// A type that can be read from a JSON value.
public protocol DataItemConvertible {
    /// Creates a value of this type; nil if the JSON value is of another type or out of range.
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
    /// Creates an array; nil if the JSON value is not an array or an element cannot be converted to `Element`.
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

extension DataNumber: DataItemConvertible {
    public init?(dataItem: DataItem) {
        guard case .number(let number) = dataItem else { return nil }
        self = number
    }
}

extension Float: DataItemConvertible {
    public init?(dataItem: DataItem) {
        guard case .number(let number) = dataItem, let value = Float(number.text), value.isFinite else { return nil }
        self = value
    }
}

extension DataItemConvertible where Self: FixedWidthInteger {
    /// Creates an integer; nil if the JSON value is not a number, is not whole or is out of range.
    public init?(dataItem: DataItem) {
        guard case .number(let number) = dataItem, let value = number.whole(as: Self.self) else { return nil }
        self = value
    }
}

extension Int: DataItemConvertible {}
extension Int8: DataItemConvertible {}
extension Int16: DataItemConvertible {}
extension Int32: DataItemConvertible {}
extension Int64: DataItemConvertible {}
extension Int128: DataItemConvertible {}
extension UInt: DataItemConvertible {}
extension UInt8: DataItemConvertible {}
extension UInt16: DataItemConvertible {}
extension UInt32: DataItemConvertible {}
extension UInt64: DataItemConvertible {}
extension UInt128: DataItemConvertible {}
