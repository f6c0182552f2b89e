/// A type whose values are one JSON value without another coder's help.
protocol PlainValue: Codable, DataItemConvertible {
    /// The JSON value; nil when JSON has none for it.
    var plainItem: DataItem? { get }
    /// Whether its values are numbers, of which some do not fit.
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
    /// Nil when it is no number, or one that does not fit; nothing is rounded.
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

// With other coders, such as JSONEncoder, these are what they are there: members in no order, numbers as far as those go.

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
    /// Reads RFC 3339.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let moment = Timestamp(rfc3339: text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "\(text) is no moment of RFC 3339")
        }
        self = moment
    }

    /// Writes RFC 3339.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}
