import HeadgateCore
import HeadgateData
import HeadgateWire

/// What has to be told that other settings are in force.
protocol SettingsFollower: AnyObject {
    func settingsChanged(from old: Settings, to new: Settings)
}

/// Holds the layers of the settings and changes them: each change is validated whole, and then put in force or refused
/// (Behaviour S1, S2).
final class SettingsControl {
    private(set) var layers: SettingsLayers
    /// What is in force.
    private(set) var inForce: Settings
    /// What programs set to outlive a restart: a part of the programmatic layer.
    private var persisted: DataObject = [:]
    private var remote: RemoteSettings?
    /// What people should know of what was kept for this start.
    private var startWarnings: [String] = []
    /// What people should know of the settings in force.
    private var findings: [String]
    private let installer: SettingsInstaller
    private weak var follower: (any SettingsFollower)?

    /// The name under which the store keeps what `config.set` persists.
    private static let keptName = "settings"

    init(_ loaded: LoadedSettings, installer: SettingsInstaller) {
        self.installer = installer
        layers = loaded.layers
        inForce = loaded.settings
        findings = loaded.reading.warnings.map(\.description)
    }

    /// What people should know.
    var warnings: [String] { startWarnings + findings }

    /// What a change came to.
    enum Outcome {
        /// It is in force; these places differ from before.
        case changed([String])
        /// Nothing has changed.
        case refused([SettingsFault])
    }

    // MARK: The start and the end

    /// Puts in force what was loaded.
    func start() throws(StartFault) {
        try installer.start(inForce)
    }

    /// Takes up what was kept over the restart, and begins to fetch the remote layer.
    /// - Parameter follower: told all changes from now on.
    func goOn(telling follower: some SettingsFollower) {
        self.follower = follower
        restore()
        followRemote()
    }

    /// Fetches nothing any more.
    func close() {
        remote = nil
    }

    // MARK: Changes

    /// Reads the configuration file again (Behaviour S3).
    func reload() -> Outcome {
        let configuration = installer.configuration
        return change { layers in
            layers.load(
                file: configuration.options.configuration, orElse: configuration.withoutFile,
                reading: configuration.readFileAgain, environment: configuration.environment,
                vocabulary: configuration.vocabulary)
        }
    }

    /// Merges a patch into the programmatic layer, where null removes; with `persists` it is kept over a restart. `then`
    /// is told once it is.
    func set(_ patch: DataObject, persists: Bool, then: @escaping (Result<Void, ConfigSetFault>) -> Void) {
        switch set(patch) {
        case .refused(let faults): then(.failure(.refused(faults)))
        case .changed where !persists: then(.success(()))
        case .changed: keep(patch, then)
        }
    }

    private func set(_ patch: DataObject) -> Outcome {
        var whole = JSONWriter()
        whole.object(layers[.programmatic].patched(with: patch))
        guard whole.bytes.count <= Limits.mostProgrammaticBytes else {
            let message = "what programs set may have no more than \(Limits.mostProgrammaticBytes) bytes"
            return .refused([SettingsFault(path: "", message: message)])
        }
        return change { $0.change(vocabulary: vocabulary) { $0.patch(patch) } }
    }

    private var vocabulary: SettingsVocabulary { installer.configuration.vocabulary }

    private func change(_ change: (inout SettingsLayers) -> SettingsReading) -> Outcome {
        var changed = layers
        let reading = change(&changed)
        guard let settings = reading.settings else { return .refused(reading.faults) }
        let before = layers
        do throws(StartFault) {
            layers = changed
            try putInForce(settings, reading.warnings)
        } catch {
            layers = before
            return .refused([SettingsFault(path: "", message: error.description)])
        }
        return .changed(SettingsChange.paths(from: before.effective, to: changed.effective))
    }

    private func putInForce(_ new: Settings, _ warnings: [SettingsFault]) throws(StartFault) {
        let old = inForce
        let made = try installer.prepare(new, insteadOf: old)
        for refusal in installer.putInForce(new, insteadOf: old, made) {
            installer.log.tell(.barrierRefused, ["fault": .string(refusal.description)])
        }
        inForce = new
        let waiting = SettingsControl.startOnlyChanges(from: old, to: new)
        findings = warnings.map(\.description) + waiting.map { "\($0): takes effect at the next start" }
        follower?.settingsChanged(from: old, to: new)
        if new.remote != old.remote { followRemote() }
    }

    /// What only a start can change (`status` warns that it waits for one).
    private static func startOnlyChanges(from old: Settings, to new: Settings) -> [String] {
        var names: [String] = []
        if new.socket != old.socket { names.append("socket") }
        if new.dataDirectory != old.dataDirectory { names.append("data_dir") }
        if new.durability != old.durability { names.append("durability") }
        if new.storeKind != old.storeKind { names.append("store.kind") }
        return names
    }

    // MARK: What is kept

    private func keep(_ patch: DataObject, _ then: @escaping (Result<Void, ConfigSetFault>) -> Void) {
        persisted = persisted.patched(with: patch)
        var json = JSONWriter()
        json.object(persisted)
        installer.gate.keep(json.bytes, as: SettingsControl.keptName) {
            then($0 == nil ? .success(()) : .failure(.notKept))
        }
    }

    /// Takes up the settings that were kept, at the start. Those that cannot be used any more are left out, with a warning.
    private func restore() {
        guard let bytes = installer.gate.keptBytes(as: SettingsControl.keptName) else { return }
        guard let item = try? DataItem(parsing: bytes), case .object(let kept) = item else {
            return startWarnings.append("what config.set persisted cannot be read, and is left out")
        }
        persisted = kept
        guard case .refused(let faults) = set(kept) else { return }
        let list = faults.map(\.description).joined(separator: "; ")
        startWarnings.append("what config.set persisted is left out: \(list)")
    }

    // MARK: The remote layer

    /// Follows the remote layer's source, or ends that.
    private func followRemote() {
        remote = inForce.remote.flatMap { source in
            RemoteSettings(source, in: installer.surroundings) { [weak self] in self?.takeRemote($0) ?? false }
        }
        remote?.start()
    }

    private func takeRemote(_ settings: DataObject) -> Bool {
        let outcome = change { $0.change(vocabulary: vocabulary) { $0[.remote] = settings } }
        guard case .refused(let faults) = outcome else { return true }
        let list = faults.map(\.description).joined(separator: "; ")
        installer.log.tell(.remoteRefused, ["faults": .string(list)])
        return false
    }
}

/// Why `config.set` did not do all that was asked.
enum ConfigSetFault: Error {
    /// The settings were refused as a whole; nothing has changed.
    case refused([SettingsFault])
    /// They are in force, but could not be written down for the next start.
    case notKept
}
