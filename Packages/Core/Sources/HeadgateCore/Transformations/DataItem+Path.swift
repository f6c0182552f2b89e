import HeadgateData

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
        switch self {
        case .object(var object):
            var member = object[name] ?? .object([:])
            try member.set(value, at: names.dropFirst())
            object[name] = member
            self = .object(object)
        case .array(var items):
            guard let index = items.index(named: name) else { throw .noWay }
            try items[index].set(value, at: names.dropFirst())
            self = .array(items)
        case .null, .bool, .number, .string: throw .noWay
        }
    }

    /// Takes away what stands there, at least one name on; nil when nothing does.
    mutating func remove(at names: ArraySlice<String>) -> DataItem? {
        guard let name = names.first else { return nil }
        switch self {
        case .object(var object):
            let removed = object.remove(name, names.dropFirst())
            self = .object(object)
            return removed
        case .array(var items):
            guard let index = items.index(named: name) else { return nil }
            let removed = names.count == 1 ? items.remove(at: index) : items[index].remove(at: names.dropFirst())
            self = .array(items)
            return removed
        case .null, .bool, .number, .string: return nil
        }
    }
}

extension DataObject {
    fileprivate mutating func remove(_ name: String, _ names: ArraySlice<String>) -> DataItem? {
        guard var member = self[name] else { return nil }
        guard !names.isEmpty else {
            self[name] = nil
            return member
        }
        let removed = member.remove(at: names)
        self[name] = member
        return removed
    }
}

extension Array {
    fileprivate func index(named name: String) -> Int? {
        EventPath.index(named: name, in: count)
    }
}
