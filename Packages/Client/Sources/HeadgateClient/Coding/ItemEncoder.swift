import HeadgateData

/// The state that all encoders of one value share.
final class EncodingRun {
    let coder: DataCoder
    /// The first error of a function that cannot throw. It ends the encoding.
    var fault: EncodingError?

    init(_ coder: DataCoder) {
        self.coder = coder
    }
}

/// A JSON value under construction. A type may keep several containers of one value open at a time.
private final class Draft {
    /// A part of a container: a finished value, or another draft.
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
        /// No content yet. A value without content encodes as an empty object.
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

/// Encodes one value to JSON: provides the containers that `Encodable` types write to.
struct ItemEncoder: Encoder {
    fileprivate let run: EncodingRun
    let codingPath: [any CodingKey]
    /// The nesting level of a container of this value. The outermost level is 1.
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

    /// Returns the JSON of a value at the coding path of this encoder.
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

    /// Returns the JSON of a value that another coder encodes, at the coding path of this encoder.
    func item(of value: some Encodable, by coder: DataCoder) throws -> DataItem {
        let encoder = ItemEncoder(EncodingRun(coder), at: codingPath, depth: depth)
        try value.encode(to: encoder)
        return encoder.draft.item
    }

    /// Returns the JSON of an element or member of this encoder's container. Numbers and strings, the most frequent
    /// values, need no encoder of their own.
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

    /// Returns an encoder for an element or member of this encoder's container.
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

    /// Sets the kind of the container. `container(keyedBy:)` and `unkeyedContainer()` cannot throw, so an error is kept
    /// in the run.
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

/// The members of a JSON object.
private struct MembersEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: ItemEncoder

    var codingPath: [any CodingKey] { encoder.codingPath }

    func encodeNil(forKey key: Key) {
        encoder.add(.item(.null), key)
    }

    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        try add(value, key)
    }

    // Without these two, the standard library's default implementations are called, which throw.
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

/// The elements of a JSON array.
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

/// A single JSON value.
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

/// A type whose keys are data: the keys are written unchanged and sorted, so that the order is the same in every run.
private protocol KeyedByData {}

extension Dictionary: KeyedByData {}

extension DataItem {
    /// The object with its members sorted by name. Other values are returned unchanged.
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

    /// Returns true if arrays and objects are nested deeper than `levels`.
    fileprivate func isDeeper(than levels: Int) -> Bool {
        switch self {
        case .array(let items): levels <= 0 || items.contains { $0.isDeeper(than: levels - 1) }
        case .object(let object): levels <= 0 || object.contains { $0.value.isDeeper(than: levels - 1) }
        default: false
        }
    }
}
