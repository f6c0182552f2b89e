import HeadgateData

/// An event that is being transformed: its members as they are delivered, in their order, numbers with all their digits
/// (Behaviour P6). Its name, key, data and context may be changed.
public struct EventDocument: Sendable, Equatable {
    private(set) var members: DataObject
    /// Whether anything was changed. What was not is sent as it lies in the store.
    private(set) var isTouched = false

    init(members: DataObject) {
        self.members = members
    }

    public var id: String { text(.id) ?? "" }
    /// Nil before the event is stored.
    public var sequenceNumber: SequenceNumber? {
        members.get(key: EventMember.sequenceNumber.rawValue, as: Int.self).map(Int64.init)
    }
    /// The client's time, else that of the receipt; RFC 3339.
    public var time: String? { text(.time) }

    /// The event's name, never empty.
    public var event: String {
        get { text(.event) ?? "" }
        set { put(.event, .string(newValue)) }
    }

    /// The key that keeps order: changed before the event is stored, it keeps another; later it only arrives so.
    public var key: String? {
        get { text(.key) }
        set { put(.key, newValue.map { .string($0) }) }
    }

    /// What the client sent, and `was_queued` and the like when the event was held (Behaviour D13).
    public var data: DataObject {
        get { object(.data) }
        set { put(.data, .object(newValue)) }
    }

    /// What collectors found (Behaviour P2).
    public var context: DataObject {
        get { object(.context) }
        set { put(.context, .object(newValue)) }
    }

    /// Whether this can be delivered.
    var isSound: Bool {
        isWord(.event) && (members[EventMember.key.rawValue] == nil || isWord(.key)) && isObject(.data)
            && isObject(.context)
    }

    private func isWord(_ member: EventMember) -> Bool {
        text(member).map { !$0.isEmpty } ?? false
    }

    private func isObject(_ member: EventMember) -> Bool {
        members.get(key: member.rawValue, as: DataObject.self) != nil
    }

    // MARK: Members

    func text(_ member: EventMember) -> String? {
        members.get(key: member.rawValue)
    }

    private func object(_ member: EventMember) -> DataObject {
        members.get(key: member.rawValue) ?? [:]
    }

    private mutating func put(_ member: EventMember, _ value: DataItem?) {
        isTouched = true
        members[member.rawValue] = value
    }
}

// MARK: - Paths

extension EventDocument {
    /// What stands at a path; nil when nothing does.
    public subscript(path: EventPath) -> DataItem? {
        members[path.member.rawValue]?.value(at: path.names[...])
    }

    /// Puts a value at a path. Objects that are missing on the way are made.
    public mutating func set(_ value: DataItem, at path: EventPath) throws(TransformationFault) {
        try requireChangeable(path)
        var member = members[path.member.rawValue] ?? .object([:])
        try member.set(value, at: path.names[...])
        put(path.member, member)
    }

    /// Takes away what stands at a path, and gives it back; nil when nothing does. Of the data and the context as a whole
    /// an empty object stays.
    @discardableResult
    public mutating func remove(at path: EventPath) throws(TransformationFault) -> DataItem? {
        try requireChangeable(path)
        guard var member = members[path.member.rawValue], member.value(at: path.names[...]) != nil else { return nil }
        guard path.names.isEmpty else {
            let removed = member.remove(at: path.names[...])
            put(path.member, member)
            return removed
        }
        if path.member == .event { throw .cannotBeChanged(.event) }
        put(path.member, path.member == .key ? nil : .object([:]))
        return member
    }

    private func requireChangeable(_ path: EventPath) throws(TransformationFault) {
        guard path.member.isChangeable else { throw .cannotBeChanged(path.member) }
    }
}

extension EventMember {
    /// Whether transformations may change it.
    public var isChangeable: Bool {
        switch self {
        case .event, .key, .context, .data: true
        case .id, .sequenceNumber, .time, .receivedAt, .attempt: false
        }
    }
}

extension EventDocument: EventFields {
    public func value(at path: EventPath) -> FieldValue? {
        self[path].map(FieldValue.init)
    }
}

extension DataItem {
    /// What stands where the names lead from here; nil when nothing does.
    func value(at names: ArraySlice<String>) -> DataItem? {
        guard let name = names.first else { return self }
        return switch self {
        case .object(let object): object[name]?.value(at: names.dropFirst())
        case .array(let items): items.index(named: name).flatMap { items[$0].value(at: names.dropFirst()) }
        case .null, .bool, .number, .string: nil
        }
    }

    /// Puts a value there, making objects that are missing on the way.
    mutating func set(_ value: DataItem, at names: ArraySlice<String>) throws(TransformationFault) {
        guard let name = names.first else {
            self = value
            return
        }
        let rest = names.dropFirst()
        switch take() {
        case .object(var object):
            defer { self = .object(object) }
            try object.change(name) { member throws(TransformationFault) in
                if member == nil { member = .object([:]) }
                try member?.set(value, at: rest)
            }
        case .array(var items):
            defer { self = .array(items) }
            guard let index = items.index(named: name) else { throw .noWay }
            try items[index].set(value, at: rest)
        case let other:
            self = other
            throw .noWay
        }
    }

    /// Takes away what stands there, at least one name on; nil when nothing does.
    mutating func remove(at names: ArraySlice<String>) -> DataItem? {
        guard let name = names.first else { return nil }
        let rest = names.dropFirst()
        switch take() {
        case .object(var object):
            defer { self = .object(object) }
            return object.change(name) { member in
                if !rest.isEmpty { return member?.remove(at: rest) }
                defer { member = nil }
                return member
            }
        case .array(var items):
            defer { self = .array(items) }
            guard let index = items.index(named: name) else { return nil }
            return rest.isEmpty ? items.remove(at: index) : items[index].remove(at: rest)
        case let other:
            self = other
            return nil
        }
    }

    /// Takes the item out to change it, with a null in its place: as long as two hold it, each change would copy it whole.
    private mutating func take() -> DataItem {
        defer { self = .null }
        return self
    }
}

extension Array {
    fileprivate func index(named name: String) -> Int? {
        EventPath.index(named: name, in: count)
    }
}
