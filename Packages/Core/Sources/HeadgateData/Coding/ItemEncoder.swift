/// What all encoders of one value have in common.
final class EncodingRun {
    let coder: DataCoder
    /// The first mistake that could not be thrown where it was made. Encoding ends with it.
    var fault: EncodingError?

    init(_ coder: DataCoder) {
        self.coder = coder
    }
}

/// A value in the making. A type may still hold containers of it while it asks for others.
private final class Draft {
    /// What lies in a container: a value, or what is a draft itself.
    enum Part {
        case item(DataItem)
        case draft(Draft)

        var item: DataItem {
            switch self {
            case .item(let item): item
            case .draft(let draft): draft.item
            }
        }
    }

    enum Content {
        /// Nothing yet; in the end it is an empty object.
        case nothing
        case item(DataItem)
        case members([(key: String, part: Part)])
        case elements([Part])
    }

    var content = Content.nothing

    var item: DataItem {
        switch content {
        case .nothing: .object([:])
        case .item(let item): item
        case .members(let members): .object(DataObject(members.lazy.map { ($0.key, $0.part.item) }))
        case .elements(let parts): .array(parts.map(\.item))
        }
    }
}

/// Takes the containers of one value.
struct ItemEncoder: Encoder {
    fileprivate let run: EncodingRun
    let codingPath: [any CodingKey]
    /// The level on which a container of this value is, the outermost being 1.
    private let depth: Int
    private let isDictionary: Bool
    fileprivate let draft = Draft()

    init(_ run: EncodingRun, at path: [any CodingKey], depth: Int, isDictionary: Bool = false) {
        self.run = run
        codingPath = path
        self.depth = depth
        self.isDictionary = isDictionary
    }

    var coder: DataCoder { run.coder }
    var userInfo: [CodingUserInfoKey: Any] { coder.userInfo }

    /// The JSON of the value at this place.
    func item(of value: some Encodable) throws -> DataItem {
        if let fault = run.fault { throw fault }
        if let plain = value as? any PlainValue { return try item(plain: plain) }
        if let foreign = ForeignType(type(of: value)), let item = try foreign.item(of: value, self) { return item }
        let isDictionary = value is any KeyedByData
        let encoder = ItemEncoder(run, at: codingPath, depth: depth, isDictionary: isDictionary)
        try value.encode(to: encoder)
        if let fault = run.fault { throw fault }
        return isDictionary ? encoder.draft.item.sorted : encoder.draft.item
    }

    /// The JSON of the value at this place, as another coder makes it.
    func item(of value: some Encodable, by coder: DataCoder) throws -> DataItem {
        let encoder = ItemEncoder(EncodingRun(coder), at: codingPath, depth: depth)
        try value.encode(to: encoder)
        return encoder.draft.item
    }

    /// The JSON of a value in a container of this one. Most are numbers and strings, which need no encoder.
    fileprivate func item(of value: some Encodable, inside key: some CodingKey) throws -> DataItem {
        if run.fault == nil, let item = (value as? any PlainValue)?.plainItem, !item.isContainer { return item }
        return try inside(key).item(of: value)
    }

    private func item(plain value: any PlainValue) throws -> DataItem {
        guard let item = value.plainItem else {
            throw EncodingError.no("JSON has no number for \(value)", value, at: codingPath)
        }
        if item.isDeeper(than: coder.maxDepth - depth + 1) { throw tooDeep(value) }
        return item
    }

    /// The encoder of a value in a container of this one.
    fileprivate func inside(_ key: some CodingKey) -> ItemEncoder {
        ItemEncoder(run, at: codingPath + [key], depth: depth + 1)
    }

    fileprivate func name(of key: some CodingKey) -> String {
        isDictionary ? key.stringValue : coder.name(of: key)
    }

    // MARK: Containers

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        begin(.members([])) { if case .members = $0 { true } else { false } }
        return KeyedEncodingContainer(MembersEncoding(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        begin(.elements([])) { if case .elements = $0 { true } else { false } }
        return ElementsEncoding(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        SingleItemEncoding(encoder: self)
    }

    /// No error can be thrown where containers are asked for: it is kept.
    private func begin(_ content: Draft.Content, isSameKind: (Draft.Content) -> Bool) {
        if depth > coder.maxDepth { run.fault = run.fault ?? tooDeep(()) }
        if case .nothing = draft.content {
            draft.content = content
            return
        }
        if !isSameKind(draft.content) { run.fault = run.fault ?? secondValue }
    }

    fileprivate func set(_ item: DataItem) throws {
        guard case .nothing = draft.content else { throw secondValue }
        draft.content = .item(item)
    }

    fileprivate func add(_ part: Draft.Part, _ key: some CodingKey) {
        guard case .members(var members) = draft.content else { return }
        draft.content = .nothing  // else the members would be copied
        members.append((name(of: key), part))
        draft.content = .members(members)
    }

    fileprivate func add(_ part: Draft.Part) {
        guard case .elements(var elements) = draft.content else { return }
        draft.content = .nothing  // else the elements would be copied
        elements.append(part)
        draft.content = .elements(elements)
    }

    fileprivate var elementCount: Int {
        if case .elements(let elements) = draft.content { elements.count } else { 0 }
    }

    private func tooDeep(_ value: Any) -> EncodingError {
        .no("it is nested deeper than \(coder.maxDepth) levels", value, at: codingPath)
    }

    private var secondValue: EncodingError {
        .no("a second value is encoded in the place of the first", (), at: codingPath)
    }
}

/// The members of an object.
private struct MembersEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: ItemEncoder

    var codingPath: [any CodingKey] { encoder.codingPath }

    func encodeNil(forKey key: Key) {
        encoder.add(.item(.null), key)
    }

    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        try add(value, key)
    }

    // Without these, what the standard library has for them comes first, which refuses them.
    func encode(_ value: Int128, forKey key: Key) throws { try add(value, key) }
    func encode(_ value: UInt128, forKey key: Key) throws { try add(value, key) }

    private func add(_ value: some Encodable, _ key: Key) throws {
        encoder.add(.item(try encoder.item(of: value, inside: key)), key)
    }

    func nestedContainer<Inner: CodingKey>(
        keyedBy type: Inner.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Inner> {
        added(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        added(key).unkeyedContainer()
    }

    func superEncoder() -> any Encoder {
        added(SuperKey.super)
    }

    func superEncoder(forKey key: Key) -> any Encoder {
        added(key)
    }

    private func added(_ key: some CodingKey) -> ItemEncoder {
        let inner = encoder.inside(key)
        encoder.add(.draft(inner.draft), key)
        return inner
    }
}

/// The elements of an array.
private struct ElementsEncoding: UnkeyedEncodingContainer {
    let encoder: ItemEncoder

    var codingPath: [any CodingKey] { encoder.codingPath }
    var count: Int { encoder.elementCount }

    func encodeNil() {
        encoder.add(.item(.null))
    }

    func encode<Value: Encodable>(_ value: Value) throws {
        try add(value)
    }

    func encode(_ value: Int128) throws { try add(value) }
    func encode(_ value: UInt128) throws { try add(value) }

    private func add(_ value: some Encodable) throws {
        encoder.add(.item(try encoder.item(of: value, inside: IndexKey(count))))
    }

    func nestedContainer<Inner: CodingKey>(keyedBy type: Inner.Type) -> KeyedEncodingContainer<Inner> {
        added().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        added().unkeyedContainer()
    }

    func superEncoder() -> any Encoder {
        added()
    }

    private func added() -> ItemEncoder {
        let inner = encoder.inside(IndexKey(count))
        encoder.add(.draft(inner.draft))
        return inner
    }
}

/// The value itself.
private struct SingleItemEncoding: SingleValueEncodingContainer {
    let encoder: ItemEncoder

    var codingPath: [any CodingKey] { encoder.codingPath }

    func encodeNil() throws {
        try encoder.set(.null)
    }

    func encode<Value: Encodable>(_ value: Value) throws {
        try set(value)
    }

    func encode(_ value: Int128) throws { try set(value) }
    func encode(_ value: UInt128) throws { try set(value) }

    private func set(_ value: some Encodable) throws {
        try encoder.set(try encoder.item(of: value))
    }
}

/// A type whose keys are data: they are written as they are, in an order that does not change from run to run.
private protocol KeyedByData {}

extension Dictionary: KeyedByData {}

extension DataItem {
    /// An object with its members in the order of their names.
    fileprivate var sorted: DataItem {
        guard case .object(let object) = self else { return self }
        return .object(DataObject(object.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }))
    }

    fileprivate var isContainer: Bool {
        switch self {
        case .array, .object: true
        default: false
        }
    }

    /// Whether more arrays and objects lie in each other than so many.
    fileprivate func isDeeper(than levels: Int) -> Bool {
        switch self {
        case .array(let items): levels <= 0 || items.contains { $0.isDeeper(than: levels - 1) }
        case .object(let object): levels <= 0 || object.contains { $0.value.isDeeper(than: levels - 1) }
        default: false
        }
    }
}
