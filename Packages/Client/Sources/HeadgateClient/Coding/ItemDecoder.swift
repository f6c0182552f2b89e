import HeadgateData

/// Decodes one JSON value: provides the containers that `Decodable` types read from.
struct ItemDecoder: Decoder {
    let coder: DataCoder
    let item: DataItem
    let codingPath: [any CodingKey]
    private let isDictionary: Bool

    init(_ coder: DataCoder, _ item: DataItem, at path: [any CodingKey], isDictionary: Bool = false) {
        self.coder = coder
        self.item = item
        codingPath = path
        self.isDictionary = isDictionary
    }

    var userInfo: [CodingUserInfoKey: Any] { coder.userInfo }

    /// Decodes the JSON value of this decoder.
    func value<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        if let plain = type as? any PlainValue.Type { return try self.plain(plain) as! Value }  // it is of that type
        if let foreign = ForeignType(type), let value = try foreign.value(of: type, self) { return value }
        return try Value(from: ItemDecoder(coder, item, at: codingPath, isDictionary: type is any KeyedByText.Type))
    }

    /// Decodes another JSON value with another coder, at the coding path of this decoder.
    func value<Value: Decodable>(as type: Value.Type, of item: DataItem, by coder: DataCoder) throws -> Value {
        try Value(from: ItemDecoder(coder, item, at: codingPath))
    }

    private func plain<Plain: PlainValue>(_ type: Plain.Type) throws -> Plain {
        if let value = Plain(dataItem: item) { return value }
        if case .number(let number) = item, type.isNumber {
            throw corrupted("\(number.text) does not fit into \(type)")
        }
        throw mismatch(type)
    }

    /// Decodes an element or member of this decoder's container. Numbers and strings, the most frequent values, need no
    /// decoder of their own.
    fileprivate func value<Value: Decodable>(of item: DataItem, inside key: some CodingKey) throws -> Value {
        if let plain = Value.self as? any PlainValue.Type, let value = plain.init(dataItem: item) {
            return value as! Value  // it is of that type
        }
        return try inside(item, key).value()
    }

    /// Returns a decoder for an element or member of this decoder's container.
    fileprivate func inside(_ item: DataItem, _ key: some CodingKey) -> ItemDecoder {
        ItemDecoder(coder, item, at: codingPath + [key])
    }

    fileprivate func name(of key: some CodingKey) -> String {
        isDictionary ? key.stringValue : coder.name(of: key)
    }

    fileprivate func key<Key: CodingKey>(named name: String) -> Key? {
        isDictionary ? Key(stringValue: name) : coder.key(named: name)
    }

    // MARK: Containers

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .object(let object) = item else { throw mismatch(DataObject.self) }
        return KeyedDecodingContainer(MembersDecoding(decoder: self, object: object))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let items) = item else { throw mismatch([DataItem].self) }
        return ElementsDecoding(decoder: self, items: items)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer {
        SingleItemDecoding(decoder: self)
    }

    // MARK: Errors

    func corrupted(_ problem: String) -> DecodingError {
        .dataCorrupted(DecodingError.Context(codingPath: codingPath, debugDescription: problem))
    }

    func mismatch(_ type: Any.Type) -> DecodingError {
        let context = DecodingError.Context(
            codingPath: codingPath, debugDescription: "\(type) expected, found \(item.kind)")
        return item.isNull ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }

    fileprivate func missing(_ key: some CodingKey) -> DecodingError {
        .keyNotFound(
            key, DecodingError.Context(codingPath: codingPath, debugDescription: "there is no \(name(of: key))"))
    }

    fileprivate func ended(_ type: Any.Type, at index: Int) -> DecodingError {
        let path = codingPath + [IndexKey(index)]
        return .valueNotFound(
            type, DecodingError.Context(codingPath: path, debugDescription: "the array has only \(index) elements"))
    }
}

/// The members of a JSON object.
private struct MembersDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoder: ItemDecoder
    let object: DataObject

    var codingPath: [any CodingKey] { decoder.codingPath }
    var allKeys: [Key] { object.keys.compactMap { decoder.key(named: $0) } }

    func contains(_ key: Key) -> Bool {
        object[decoder.name(of: key)] != nil
    }

    func decodeNil(forKey key: Key) throws -> Bool {
        try item(key).isNull
    }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try value(key)
    }

    // Without these two, the standard library's default implementations are called, which throw.
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try value(key) }
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try value(key) }

    func nestedContainer<Inner: CodingKey>(
        keyedBy type: Inner.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Inner> {
        try member(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try member(key).unkeyedContainer()
    }

    func superDecoder() -> any Decoder {
        decoder.inside(object[decoder.name(of: SuperKey.super)] ?? .null, SuperKey.super)
    }

    func superDecoder(forKey key: Key) -> any Decoder {
        decoder.inside(object[decoder.name(of: key)] ?? .null, key)
    }

    private func value<Value: Decodable>(_ key: Key) throws -> Value {
        try decoder.value(of: item(key), inside: key)
    }

    private func member(_ key: Key) throws -> ItemDecoder {
        decoder.inside(try item(key), key)
    }

    private func item(_ key: Key) throws -> DataItem {
        guard let item = object[decoder.name(of: key)] else { throw decoder.missing(key) }
        return item
    }
}

/// The elements of a JSON array. An element that fails to decode is not skipped: it stays the next element.
private struct ElementsDecoding: UnkeyedDecodingContainer {
    let decoder: ItemDecoder
    let items: [DataItem]
    private(set) var currentIndex = 0

    init(decoder: ItemDecoder, items: [DataItem]) {
        self.decoder = decoder
        self.items = items
    }

    var codingPath: [any CodingKey] { decoder.codingPath }
    var count: Int? { items.count }
    var isAtEnd: Bool { currentIndex == items.count }

    mutating func decodeNil() throws -> Bool {
        guard try next(DataItem.self).isNull else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try value() }
    mutating func decode(_ type: Int128.Type) throws -> Int128 { try value() }
    mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try value() }

    mutating func nestedContainer<Inner: CodingKey>(keyedBy type: Inner.Type) throws -> KeyedDecodingContainer<Inner> {
        try take(DataObject.self) { try $0.inside($1, $2).container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try take([DataItem].self) { try $0.inside($1, $2).unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder {
        try take(DataItem.self) { $0.inside($1, $2) }
    }

    private mutating func value<Value: Decodable>() throws -> Value {
        try take(Value.self) { try $0.value(of: $1, inside: $2) }
    }

    private mutating func take<Taken>(
        _ type: Any.Type, _ take: (ItemDecoder, DataItem, IndexKey) throws -> Taken
    ) throws -> Taken {
        let taken = try take(decoder, next(type), IndexKey(currentIndex))
        currentIndex += 1
        return taken
    }

    private func next(_ type: Any.Type) throws -> DataItem {
        guard !isAtEnd else { throw decoder.ended(type, at: currentIndex) }
        return items[currentIndex]
    }
}

/// A single JSON value.
private struct SingleItemDecoding: SingleValueDecodingContainer {
    let decoder: ItemDecoder

    var codingPath: [any CodingKey] { decoder.codingPath }

    func decodeNil() -> Bool {
        decoder.item.isNull
    }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try decoder.value()
    }

    func decode(_ type: Int128.Type) throws -> Int128 { try decoder.value() }
    func decode(_ type: UInt128.Type) throws -> UInt128 { try decoder.value() }
}

/// A type whose keys are data, so that they are not converted. `ItemEncoder` has the same protocol.
private protocol KeyedByText {}

extension Dictionary: KeyedByText {}

extension DataItem {
    /// The kind of the value for error messages, with its article.
    fileprivate var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}
