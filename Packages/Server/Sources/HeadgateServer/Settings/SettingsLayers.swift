import Glibc
import HeadgateData

/// The sources of settings; a later one in the list wins (Behaviour S1).
public enum SettingsLayer: String, CaseIterable, Sendable {
    /// The configuration file.
    case file
    /// What a server gave.
    case remote
    /// What a program or `config.set` gave.
    case programmatic
}

/// The settings of all layers, and what they come to together (Behaviour S1, S2).
public struct SettingsLayers: Equatable, Sendable {
    private var layers: [SettingsLayer: DataObject] = [:]

    /// Layers that say nothing.
    public init() {}

    /// What one layer says.
    public subscript(layer: SettingsLayer) -> DataObject {
        get { layers[layer] ?? [:] }
        set { layers[layer] = newValue }
    }

    /// What all layers come to. Objects are merged by key, anything else is replaced; a null in a layer takes away what
    /// the layers before it said.
    public var effective: DataObject {
        SettingsLayer.allCases.reduce(DataObject()) { $0.patched(with: self[$1]) }
    }

    /// Merges a patch into the programmatic layer: a null takes a member out of that layer, so that what the layers
    /// before it say counts again.
    public mutating func patch(_ patch: DataObject) {
        self[.programmatic] = self[.programmatic].patched(with: patch)
    }
}

extension SettingsReference {
    /// A warning when it is not there.
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

    /// Whether this process may read a file.
    static func isReadable(_ path: String) -> Bool {
        access(path, R_OK) == 0
    }
}

extension DataObject {
    /// The object with a patch put on it, as JSON Merge Patch (RFC 7396) has it: objects by key, anything else replaced,
    /// null removes. In a rule that names its operator a null is the value that the rule compares with (Behaviour S5).
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
