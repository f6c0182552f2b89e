/// A type whose values convert to and from a single JSON value without a coder.
protocol PlainValue: Codable, DataItemConvertible {
    /// The JSON value; nil if JSON has no form for it, such as an infinite number.
    var plainItem: DataItem? { get }
    /// True if values of the type are JSON numbers. A number may be out of the type's range.
    static var isNumber: Bool { get }
}

extension PlainValue {
    static var isNumber: Bool { false }
}

extension Bool: PlainValue {
    var plainItem: DataItem? { .bool(self) }
}

extension String: PlainValue {
    var plainItem: DataItem? { .string(self) }
}

extension DataItem: PlainValue {
    var plainItem: DataItem? { self }
}

extension DataObject: PlainValue {
    var plainItem: DataItem? { .object(self) }
}

extension DataNumber: PlainValue {
    var plainItem: DataItem? { .number(self) }
    static var isNumber: Bool { true }

    public init?(dataItem: DataItem) {
        guard case .number(let number) = dataItem else { return nil }
        self = number
    }
}

extension PlainValue where Self: FixedWidthInteger {
    var plainItem: DataItem? { .number(DataNumber(self)) }
    static var isNumber: Bool { true }
}

extension DataItemConvertible where Self: FixedWidthInteger {
    /// Creates an integer; nil if the JSON value is not a number, is not whole or is out of range.
    public init?(dataItem: DataItem) {
        guard case .number(let number) = dataItem, let value = number.whole(as: Self.self) else { return nil }
        self = value
    }
}

extension Int: PlainValue {}
extension Int8: PlainValue {}
extension Int16: PlainValue {}
extension Int32: PlainValue {}
extension Int64: PlainValue {}
extension Int128: PlainValue {}
extension UInt: PlainValue {}
extension UInt8: PlainValue {}
extension UInt16: PlainValue {}
extension UInt32: PlainValue {}
extension UInt64: PlainValue {}
extension UInt128: PlainValue {}

extension Double: PlainValue {
    var plainItem: DataItem? { isFinite ? .number(DataNumber(self)) : nil }
    static var isNumber: Bool { true }
}

extension Float: PlainValue {
    var plainItem: DataItem? { isFinite ? .number(DataNumber(unchecked: description)) : nil }
    static var isNumber: Bool { true }

    public init?(dataItem: DataItem) {
        guard case .number(let number) = dataItem, let value = Float(number.text), value.isFinite else { return nil }
        self = value
    }
}

// Other coders, such as JSONEncoder, apply the following conformances. They keep neither the order of members nor the
// digits of large numbers.

extension DataItem: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let bool = try? container.decode(Bool.self) {
            self = .bool(bool)
        } else if let string = try? container.decode(String.self) {
            self = .string(string)
        } else if let number = try? DataNumber(from: decoder) {
            self = .number(number)
        } else if let array = try? container.decode([DataItem].self) {
            self = .array(array)
        } else {
            self = .object(try DataObject(from: decoder))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let bool): try container.encode(bool)
        case .number(let number): try container.encode(number)
        case .string(let string): try container.encode(string)
        case .array(let items): try container.encode(items)
        case .object(let object): try container.encode(object)
        }
    }
}

extension DataObject: Codable {
    public init(from decoder: any Decoder) throws {
        let members = try decoder.singleValueContainer().decode([String: DataItem].self)
        self.init(members.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Dictionary(map { ($0.key, $0.value) }) { _, last in last })
    }
}

extension DataNumber: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let whole = try? container.decode(Int64.self) {
            self.init(whole)
        } else if let whole = try? container.decode(UInt64.self) {
            self.init(whole)
        } else {
            self.init(try container.decode(Double.self))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if let whole = Int64(text) { return try container.encode(whole) }
        if let whole = UInt64(text) { return try container.encode(whole) }
        guard let double else {
            throw EncodingError.no("\(text) is out of a Double's range", self, at: encoder.codingPath)
        }
        try container.encode(double)
    }
}

extension Timestamp: Codable {
    /// Reads a moment in RFC 3339.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let moment = Timestamp(rfc3339: text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "\(text) is not a time of RFC 3339")
        }
        self = moment
    }

    /// Writes the moment in RFC 3339.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}
