import HeadgateCore
import HeadgateData

/// Holds the layers of the settings and changes them: each change is validated whole, and then put in force or refused
/// (Behaviour S1, S2).
final class SettingsControl {
    private(set) var layers: SettingsLayers
    /// What programs set to outlive a restart: a part of the programmatic layer.
    private var persisted: DataObject = [:]
    private let configuration: ServerConfiguration
    /// Puts settings in force; throws when that is not possible.
    var apply: (SettingsReading) throws(StartFault) -> Void = { _ throws(StartFault) in }

    init(_ configuration: ServerConfiguration, layers: SettingsLayers) {
        self.configuration = configuration
        self.layers = layers
    }

    /// What a change came to.
    enum Outcome {
        /// It is in force; these places differ from before.
        case changed([String])
        /// Nothing has changed.
        case refused([SettingsFault])
    }

    /// Reads the configuration file again (Behaviour S3).
    func reload() -> Outcome {
        change { layers in
            layers.load(
                file: configuration.options.configuration, orElse: configuration.withoutFile,
                environment: configuration.environment, vocabulary: configuration.vocabulary)
        }
    }

    /// Merges a patch into the programmatic layer; null removes.
    func set(_ patch: DataObject) -> Outcome {
        var whole = JSONWriter()
        whole.object(layers[.programmatic].patched(with: patch))
        guard whole.bytes.count <= Limits.mostProgrammaticBytes else {
            let message = "what programs set may have no more than \(Limits.mostProgrammaticBytes) bytes"
            return .refused([SettingsFault(path: "", message: message)])
        }
        return change { layers in layers.change(vocabulary: configuration.vocabulary) { $0.patch(patch) } }
    }

    /// Replaces the remote layer.
    func setRemote(_ settings: DataObject) -> Outcome {
        change { layers in layers.change(vocabulary: configuration.vocabulary) { $0[.remote] = settings } }
    }

    /// What is kept over a restart once `patch` is a part of it.
    func persisting(_ patch: DataObject) -> DataObject {
        persisted = persisted.patched(with: patch)
        return persisted
    }

    /// Takes up what was kept over a restart.
    func restore(_ kept: DataObject) -> Outcome {
        persisted = kept
        return set(kept)
    }

    private func change(_ change: (inout SettingsLayers) -> SettingsReading) -> Outcome {
        var changed = layers
        let reading = change(&changed)
        guard reading.settings != nil else { return .refused(reading.faults) }
        let before = layers
        do throws(StartFault) {
            layers = changed
            try apply(reading)
        } catch {
            layers = before
            return .refused([SettingsFault(path: "", message: error.description)])
        }
        return .changed(SettingsChange.paths(from: before.effective, to: changed.effective))
    }
}
