import HeadgateData

/// The difference between two settings.
public enum SettingsChange {
    /// The places that differ, as deep as both sides have objects: the ones that went or changed in the order of `old`,
    /// then the ones that came in the order of `new`.
    public static func paths(from old: DataObject, to new: DataObject) -> [String] {
        paths(from: old, to: new, at: "")
    }

    private static func paths(from old: DataObject, to new: DataObject, at place: String) -> [String] {
        let keys = old.keys + new.keys.filter { old[$0] == nil }
        return keys.flatMap { key -> [String] in
            let path = place.isEmpty ? key : "\(place).\(key)"
            if case .object(let old)? = old[key], case .object(let new)? = new[key] {
                return paths(from: old, to: new, at: path)
            }
            return old[key] == new[key] ? [] : [path]
        }
    }
}
