/// A JSON object whose members keep their order (Behaviour P6).
///
/// A name occurs once. Setting it again replaces the value and keeps the place; setting nil removes the member. Names
/// are told apart by their bytes, as JSON has them: `"é"` written as one scalar and as two are two members. Two objects
/// are equal when they have the same members, in whatever order.
public struct DataObject: Sendable {
    /// One member.
    public typealias Element = (key: String, value: DataItem)

    /// The members in order; nil where one was removed from a large object, so that removing many is no slower than one
    /// pass.
    private var members: [Element?] = []
    private var removed = 0
    /// Where each name is, kept only for objects of so many members that searching them one by one would be slow.
    private var places: [ExactName: Int]?

    private static let searchedOneByOne = 16

    /// An object with no members.
    public init() {}

    /// An object of these members; of members with the same name the last one counts, in the place of the first.
    public init(_ elements: some Sequence<(String, DataItem)>) {
        members.reserveCapacity(elements.underestimatedCount)
        for (key, value) in elements { set(key, value) }
    }

    /// The names, in order.
    public var keys: [String] { map(\.key) }

    /// The number of members.
    public var count: Int { members.count - removed }

    /// Whether there is no member.
    public var isEmpty: Bool { count == 0 }

    /// The value of a member; nil when there is none. A member that is JSON's `null` is `.null`, not nil.
    public subscript(key: String) -> DataItem? {
        get { place(of: key).flatMap { members[$0]?.value } }
        set {
            guard let newValue else { return remove(key) }
            set(key, newValue)
        }
    }

    /// The value of a member as a `T`; nil when there is none or it is something else.
    public func get<T: DataItemConvertible>(key: String, as type: T.Type = T.self) -> T? {
        self[key].flatMap(T.init(dataItem:))
    }

    /// The elements of a member that is an array, nil standing for each that is no `T`; nil when it is no array.
    public func getArray<T: DataItemConvertible>(key: String, of type: T.Type = T.self) -> [T?]? {
        guard case .array(let items)? = self[key] else { return nil }
        return items.map(T.init(dataItem:))
    }

    /// Changes the value of a member in its place, without a copy; nil where there is none, and to have none.
    public mutating func change<Result, Fault: Error>(
        _ key: String, _ change: (inout DataItem?) throws(Fault) -> Result
    ) throws(Fault) -> Result {
        let place = place(of: key)
        var value: DataItem?
        if let place {
            value = members[place]?.value
            members[place]?.value = .null
        }
        defer { self[key] = value }
        return try change(&value)
    }

    /// Makes room for so many members.
    public mutating func reserveCapacity(_ count: Int) {
        members.reserveCapacity(count)
    }

    private func place(of key: String) -> Int? {
        if let places { return places[ExactName(key)] }
        return members.firstIndex { $0.map { ExactName($0.key) } == ExactName(key) }
    }

    private mutating func set(_ key: String, _ value: DataItem) {
        if let place = place(of: key) {
            members[place]?.value = value
            return
        }
        places?[ExactName(key)] = members.count
        members.append((key, value))
        if places == nil, members.count > DataObject.searchedOneByOne { indexPlaces() }
    }

    private mutating func remove(_ key: String) {
        guard let place = place(of: key) else { return }
        guard places != nil else {
            members.remove(at: place)
            return
        }
        members[place] = nil
        places?[ExactName(key)] = nil
        removed += 1
        if removed > count { closeGaps() }
    }

    private mutating func closeGaps() {
        members.removeAll { $0 == nil }
        removed = 0
        places = nil
        if members.count > DataObject.searchedOneByOne { indexPlaces() }
    }

    private mutating func indexPlaces() {
        places = Dictionary(minimumCapacity: members.count)
        for (place, member) in members.enumerated() {
            if let member { places?[ExactName(member.key)] = place }
        }
    }
}

extension DataObject: Sequence {
    /// The members in order.
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
