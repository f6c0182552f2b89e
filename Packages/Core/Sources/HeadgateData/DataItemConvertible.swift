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
