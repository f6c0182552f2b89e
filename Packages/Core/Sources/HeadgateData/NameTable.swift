/// A name as JSON has it, told apart by its bytes. Swift's own strings are equal when they look alike: `é` in one code point
/// and in two.
public struct ExactName: Sendable {
    /// The name.
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

/// Values by names that are told apart by their bytes.
public struct NameTable<Value> {
    private var values: [ExactName: Value] = [:]

    public init() {}

    /// The value of a name; nil if there is none.
    public subscript(name: String) -> Value? {
        get { values[ExactName(name)] }
        set { values[ExactName(name)] = newValue }
    }

    /// The value of a name; one that is missing is there from the first change on.
    public subscript(name: String, default value: @autoclosure () -> Value) -> Value {
        get { values[ExactName(name), default: value()] }
        set { values[ExactName(name)] = newValue }
    }

    /// Takes a value out.
    public mutating func removeValue(forKey name: String) -> Value? {
        values.removeValue(forKey: ExactName(name))
    }

    /// True if there is none.
    public var isEmpty: Bool { values.isEmpty }
    /// The number of names.
    public var count: Int { values.count }
    /// The names, in no order.
    public var keys: [String] { values.keys.map(\.text) }
}

extension NameTable: Sequence {
    public func makeIterator() -> some IteratorProtocol<(key: String, value: Value)> {
        values.lazy.map { (key: $0.key.text, value: $0.value) }.makeIterator()
    }
}

extension NameTable: Sendable where Value: Sendable {}
extension NameTable: Equatable where Value: Equatable {}

/// Names that are told apart by their bytes.
public struct NameSet: Sendable, Equatable {
    private var names: Set<ExactName> = []

    public init() {}

    /// Adds a name.
    /// - Returns: false if it was there.
    @discardableResult
    public mutating func insert(_ name: String) -> Bool {
        names.insert(ExactName(name)).inserted
    }

    /// Takes a name out.
    public mutating func remove(_ name: String) {
        names.remove(ExactName(name))
    }

    public func contains(_ name: String) -> Bool {
        names.contains(ExactName(name))
    }

    /// True if there is none.
    public var isEmpty: Bool { names.isEmpty }
    /// The number of names.
    public var count: Int { names.count }
}

extension NameSet: Sequence {
    public func makeIterator() -> some IteratorProtocol<String> {
        names.lazy.map(\.text).makeIterator()
    }
}
