// These conformances serve coders such as JSONEncoder, which keep neither the order of members nor the digits of large
// numbers. The client's DataCoder keeps both, and does not use them.

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
            let context = EncodingError.Context(
                codingPath: encoder.codingPath, debugDescription: "\(text) is out of a Double's range")
            throw EncodingError.invalidValue(self, context)
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
