/// A JSON object whose members keep their order (Behaviour P6).
///
/// A name occurs once. Setting a name again replaces the value and keeps its position; setting nil removes the member.
/// Names are compared by their bytes, as in JSON: `"é"` written as one scalar and as two scalars are two members. Two
/// objects are equal if they have equal members, in any order.
public struct DataObject: Sendable {
    /// The name and value of a member.
    public typealias Element = (key: String, value: DataItem)

    /// The members in order. In a large object a removed member leaves nil, so that removing many members takes linear
    /// time.
    private var members: [Element?] = []
    private var removed = 0
    /// The index of each name in `members`; nil in a small object, which is searched member by member.
    private var indexes: [ExactName: Int]?

    private static let searchedOneByOne = 16

    /// Creates an empty object.
    public init() {}

    /// Creates an object. If a name repeats, the last value is kept at the position of the first.
    public init(_ elements: some Sequence<(String, DataItem)>) {
        members.reserveCapacity(elements.underestimatedCount)
        for (key, value) in elements { set(key, value) }
    }

    /// The names, in order.
    public var keys: [String] { map(\.key) }

    /// The number of members.
    public var count: Int { members.count - removed }

    /// True if the object has no members.
    public var isEmpty: Bool { count == 0 }

    /// The value of a member; nil if there is no such member. A member with JSON's `null` has the value `.null`.
    public subscript(key: String) -> DataItem? {
        get { index(of: key).flatMap { members[$0]?.value } }
        set {
            guard let newValue else { return remove(key) }
            set(key, newValue)
        }
    }

    /// Returns the value of a member as a `T`, or nil if there is no such member or its value is of another type.
    public func get<T: DataItemConvertible>(key: String, as type: T.Type = T.self) -> T? {
        self[key].flatMap(T.init(dataItem:))
    }

    /// Returns the elements of a member that is an array, or nil if the member is not an array. An element that cannot
    /// be converted to `T` is nil.
    public func getArray<T: DataItemConvertible>(key: String, of type: T.Type = T.self) -> [T?]? {
        guard case .array(let items)? = self[key] else { return nil }
        return items.map(T.init(dataItem:))
    }

    /// Changes the value of a member in place, without a copy.
    /// - Parameter change: changes the value. Nil stands for an absent member, both before and after the change.
    public mutating func change<Result, Fault: Error>(
        _ key: String, _ change: (inout DataItem?) throws(Fault) -> Result
    ) throws(Fault) -> Result {
        let index = index(of: key)
        var value: DataItem?
        if let index {
            value = members[index]?.value
            members[index]?.value = .null
        }
        defer { self[key] = value }
        return try change(&value)
    }

    /// Reserves capacity for a number of members.
    public mutating func reserveCapacity(_ count: Int) {
        members.reserveCapacity(count)
    }

    private func index(of key: String) -> Int? {
        if let indexes { return indexes[ExactName(key)] }
        return members.firstIndex { $0.map { ExactName($0.key) } == ExactName(key) }
    }

    private mutating func set(_ key: String, _ value: DataItem) {
        if let index = index(of: key) {
            members[index]?.value = value
            return
        }
        indexes?[ExactName(key)] = members.count
        members.append((key, value))
        if indexes == nil, members.count > DataObject.searchedOneByOne { indexMembers() }
    }

    private mutating func remove(_ key: String) {
        guard let index = index(of: key) else { return }
        guard indexes != nil else {
            members.remove(at: index)
            return
        }
        members[index] = nil
        indexes?[ExactName(key)] = nil
        removed += 1
        if removed > count { closeGaps() }
    }

    private mutating func closeGaps() {
        members.removeAll { $0 == nil }
        removed = 0
        indexes = nil
        if members.count > DataObject.searchedOneByOne { indexMembers() }
    }

    private mutating func indexMembers() {
        indexes = Dictionary(minimumCapacity: members.count)
        for (index, member) in members.enumerated() {
            if let member { indexes?[ExactName(member.key)] = index }
        }
    }
}

extension DataObject: Sequence {
    /// An iterator over the members in order.
    public struct Iterator: IteratorProtocol {
        fileprivate var members: IndexingIterator<[Element?]>

        public mutating func next() -> Element? {
            while let member = members.next() {
                if let member { return member }
            }
            return nil
        }
    }

    public func makeIterator() -> Iterator {
        Iterator(members: members.makeIterator())
    }

    public var underestimatedCount: Int { count }
}

extension DataObject: Equatable {
    public static func == (left: DataObject, right: DataObject) -> Bool {
        left.count == right.count && left.allSatisfy { right[$0.key] == $0.value }
    }
}

extension DataObject: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (String, DataItem)...) {
        self.init(elements)
    }
}
