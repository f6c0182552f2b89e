import HeadgateData

/// Where settings come from; what comes later in the list wins (Behaviour S1).
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

    /// Makes a change if what comes of it is without fault, and else leaves everything as it is (Behaviour S2).
    public mutating func change(
        vocabulary: SettingsVocabulary = .builtIn, _ change: (inout SettingsLayers) -> Void
    ) -> SettingsReading {
        var changed = self
        change(&changed)
        let reading = Settings.read(changed.effective, vocabulary: vocabulary)
        if reading.settings != nil { self = changed }
        return reading
    }
}
