extension JSONView {
    /// The key path of the first member whose name repeats in its object, like `dispatchers.collect`; nil if there is
    /// none. It is meant for texts that people write, since it copies every name.
    public var repeatedMember: String? {
        repeatedMember(at: "")
    }

    private func repeatedMember(at path: String) -> String? {
        if let elements {
            return elements.enumerated().lazy.compactMap { $1.repeatedMember(at: "\(path)[\($0)]") }.first
        }
        guard let members else { return nil }
        var seen: Set<[UInt8]> = []
        for (key, value) in members {
            var name: [UInt8] = []
            key.appendExact(to: &name)
            let memberPath = path.isEmpty ? key.string ?? "" : "\(path).\(key.string ?? "")"
            if !seen.insert(name).inserted { return memberPath }
            if let inside = value.repeatedMember(at: memberPath) { return inside }
        }
        return nil
    }
}
