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
