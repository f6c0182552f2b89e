/// A name that is compared by its bytes, as in JSON. Swift compares strings by canonical equivalence: `é` as one code
/// point equals `é` as two.
public struct ExactName: Sendable {
    public let text: String

    public init(_ text: String) {
        self.text = text
    }
}

extension ExactName: Hashable {
    public static func == (left: ExactName, right: ExactName) -> Bool {
        left.text.utf8.count == right.text.utf8.count && left.text.utf8.elementsEqual(right.text.utf8)
    }

    public func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

/// A dictionary whose names are compared by their bytes.
public struct NameTable<Value> {
    private var values: [ExactName: Value] = [:]

    public init() {}

    /// The value of a name; nil if there is none.
    public subscript(name: String) -> Value? {
        get { values[ExactName(name)] }
        set { values[ExactName(name)] = newValue }
    }

    /// The value of a name, or `value` if there is none. A change through this subscript adds a missing name.
    public subscript(name: String, default value: @autoclosure () -> Value) -> Value {
        get { values[ExactName(name), default: value()] }
        set { values[ExactName(name)] = newValue }
    }

    /// Removes a name and returns its value, or nil if there was none.
    public mutating func removeValue(forKey name: String) -> Value? {
        values.removeValue(forKey: ExactName(name))
    }

    /// True if the table has no names.
    public var isEmpty: Bool { values.isEmpty }
    /// The number of names.
    public var count: Int { values.count }
    /// The names, in no particular order.
    public var keys: [String] { values.keys.map(\.text) }

    /// Returns a table with the values of both. For a name in both, the value of `other` counts.
    public func merging(_ other: NameTable) -> NameTable {
        var merged = self
        merged.values.merge(other.values) { $1 }
        return merged
    }
}

extension NameTable: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (String, Value)...) {
        for (name, value) in elements { values[ExactName(name)] = value }
    }
}

extension NameTable: Sequence {
    public func makeIterator() -> some IteratorProtocol<(key: String, value: Value)> {
        values.lazy.map { (key: $0.key.text, value: $0.value) }.makeIterator()
    }
}

extension NameTable: Sendable where Value: Sendable {}
extension NameTable: Equatable where Value: Equatable {}

/// A set of names that are compared by their bytes.
public struct NameSet: Sendable, Equatable {
    private var names: Set<ExactName> = []

    public init() {}

    public init(_ names: some Sequence<String>) {
        self.names = Set(names.lazy.map(ExactName.init))
    }

    /// Adds a name.
    /// - Returns: false if the set already had the name.
    @discardableResult
    public mutating func insert(_ name: String) -> Bool {
        names.insert(ExactName(name)).inserted
    }

    /// Removes a name.
    public mutating func remove(_ name: String) {
        names.remove(ExactName(name))
    }

    public func contains(_ name: String) -> Bool {
        names.contains(ExactName(name))
    }

    /// True if the set has no names.
    public var isEmpty: Bool { names.isEmpty }
    /// The number of names.
    public var count: Int { names.count }
}

extension NameSet: Sequence {
    public func makeIterator() -> some IteratorProtocol<String> {
        names.lazy.map(\.text).makeIterator()
    }
}
