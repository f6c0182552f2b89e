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
