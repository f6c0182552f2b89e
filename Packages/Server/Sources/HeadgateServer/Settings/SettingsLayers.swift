import Glibc
import HeadgateData

/// The sources of settings. A later one overrides an earlier one (Behaviour S1).
public enum SettingsLayer: String, CaseIterable, Sendable {
    /// The configuration file.
    case file
    /// The settings that a server sends.
    case remote
    /// The settings of the embedding program and of `config.set`.
    case programmatic
}

/// The settings of all layers (Behaviour S1, S2).
public struct SettingsLayers: Equatable, Sendable {
    private var layers: [SettingsLayer: DataObject] = [:]

    /// Makes empty layers.
    public init() {}

    /// The settings of one layer.
    public subscript(layer: SettingsLayer) -> DataObject {
        get { layers[layer] ?? [:] }
        set { layers[layer] = newValue }
    }

    /// The merged settings of all layers. Objects are merged by key, and other values are replaced. A null in a layer
    /// removes the value of earlier layers.
    public var effective: DataObject {
        SettingsLayer.allCases.reduce(DataObject()) { $0.patched(with: self[$1]) }
    }

    /// Merges a patch into the programmatic layer. A null removes a member from that layer, so that the earlier layers'
    /// value applies again.
    public mutating func patch(_ patch: DataObject) {
        self[.programmatic] = self[.programmatic].patched(with: patch)
    }
}

extension SettingsReference {
    /// Returns a warning if the referenced file or variable is missing, or nil.
    func warning(
        environment: [String: String], isReadable: (String) -> Bool = SettingsReference.isReadable
    ) -> SettingsFault? {
        switch target {
        case .file(let file) where !isReadable(file): SettingsFault(path: path, message: "the file cannot be read")
        case .variable(let name) where environment[name] == nil:
            SettingsFault(path: path, message: "the environment variable is not set")
        default: nil
        }
    }

    /// Returns true if this process may read a file.
    static func isReadable(_ path: String) -> Bool {
        access(path, R_OK) == 0
    }
}

extension DataObject {
    /// Returns the object with a JSON Merge Patch (RFC 7396) applied: objects are merged by key, other values are
    /// replaced, and null removes. In a rule that has an operator, a null `value` is kept, because the rule compares
    /// with it (Behaviour S5).
    func patched(with patch: DataObject) -> DataObject {
        var result = self
        let namesOperator = patch["operator"].flatMap(String.init(dataItem:)) != nil
        for (key, value) in patch {
            let isCompared = namesOperator && key == "value" && value.isNull
            result[key] = isCompared ? .null : DataObject.patched(result[key], with: value)
        }
        return result
    }

    private static func patched(_ item: DataItem?, with patch: DataItem) -> DataItem? {
        switch patch {
        case .null: nil
        case .object(let patch):
            .object((item.flatMap(DataObject.init(dataItem:)) ?? [:]).patched(with: patch))
        default: patch
        }
    }
}

/// The comparison of two settings objects.
public enum SettingsChange {
    /// Returns the key paths of all differences. Objects that both sides have are compared member by member. Removed
    /// and changed values come first, in the order of `old`, then new values in the order of `new`.
    public static func paths(from old: DataObject, to new: DataObject) -> [String] {
        paths(from: old, to: new, at: "")
    }

    private static func paths(from old: DataObject, to new: DataObject, at parent: String) -> [String] {
        let keys = old.keys + new.keys.filter { old[$0] == nil }
        return keys.flatMap { key -> [String] in
            let path = parent.isEmpty ? key : "\(parent).\(key)"
            if case .object(let old)? = old[key], case .object(let new)? = new[key] {
                return paths(from: old, to: new, at: path)
            }
            return old[key] == new[key] ? [] : [path]
        }
    }
}
