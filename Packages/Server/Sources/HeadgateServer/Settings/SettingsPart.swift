import HeadgateData

/// The smallest part of persisted settings that a start can leave out. It is a top-level setting like `durability`, a
/// member of a section like `limits.max_depth`, or a whole entry like `dispatchers.collect`.
struct SettingsPart: Equatable {
    /// The top-level key, and the key inside its value if the value is an object.
    let names: [String]

    /// The part's key path.
    var path: String { names.joined(separator: ".") }

    /// Finds the part of an object that contains the path of a fault. Returns nil if the object has no value there.
    init?(of object: DataObject, at path: String) {
        guard let (section, rest) = object.member(at: path[...]) else { return nil }
        guard case .object(let members)? = object[section], let (name, _) = members.member(at: rest) else {
            names = [section]
            return
        }
        names = [section, name]
    }

    /// Returns the part alone, as a patch, or nil if the object does not have it.
    func patch(in object: DataObject) -> DataObject? {
        guard let value = object[names[0]] else { return nil }
        guard names.count > 1 else { return [names[0]: value] }
        guard case .object(let members) = value, let member = members[names[1]] else { return nil }
        return [names[0]: .object([names[1]: member])]
    }

    /// Returns the object without this part.
    func removed(from object: DataObject) -> DataObject {
        object.patched(with: names.count > 1 ? [names[0]: .object([names[1]: .null])] : [names[0]: .null])
    }
}

extension DataObject {
    /// Returns the member that a path begins with, and the rest of the path. If several names match, returns the member
    /// with the longest one.
    fileprivate func member(at path: Substring) -> (name: String, rest: Substring)? {
        let leading = keys.filter { name in
            guard !name.isEmpty, path.hasPrefix(name) else { return false }
            let next = path.dropFirst(name.count).first
            return next == nil || next == "." || next == "["
        }
        guard let name = leading.max(by: { $0.utf8.count < $1.utf8.count }) else { return nil }
        let rest = path.dropFirst(name.count)
        return (name, rest.first == "." ? rest.dropFirst() : rest)
    }

    /// Returns true if the object has a value at a path.
    func has(_ path: String) -> Bool {
        guard let (name, rest) = member(at: path[...]) else { return false }
        return rest.isEmpty || self[name]?.has(rest) == true
    }

    /// The members of a patch that remove a value.
    var removals: DataObject {
        DataObject(
            compactMap { name, value in
                switch value {
                case .null: (name, .null)
                case .object(let inner): (name, .object(inner.removals))
                default: nil
                }
            })
    }
}

extension DataItem {
    fileprivate func has(_ path: Substring) -> Bool {
        if path.isEmpty { return true }
        switch self {
        case .object(let object): return object.has(String(path))
        case .array(let items):
            let digits = path.dropFirst().prefix { $0 != "]" }
            guard path.first == "[", let index = Int(digits), items.indices.contains(index) else { return false }
            let rest = path.dropFirst(digits.count + 2)
            return items[index].has(rest.first == "." ? rest.dropFirst() : rest)
        case .null, .bool, .number, .string: return false
        }
    }
}

/// A part of the persisted settings that is not in force, because it contradicts other settings.
struct LeftOutSettings: Equatable {
    let part: SettingsPart
    /// The part as a patch.
    var patch: DataObject
    /// The reason, as a text for people.
    let fault: String

    /// The warning for `status` and the log.
    var warning: SettingsFault {
        SettingsFault(
            path: part.path, message: "this part of the settings persisted with config.set is ignored: \(fault)")
    }
}
