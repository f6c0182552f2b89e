import HeadgateCore
import HeadgateData
import HeadgateEncryption
import HeadgateWire

/// A part of the service that applies changes of the settings.
protocol SettingsObserver: AnyObject {
    func settingsChanged(from old: Settings, to new: Settings)
}

/// The owner of the layers of the settings, through which all changes go. Each change is checked as a whole, and then
/// applied or refused (Behaviour S1, S2).
final class SettingsControl {
    private(set) var layers: SettingsLayers
    /// The settings in force. Settings that only a start can change have the values that were read last.
    private(set) var inForce: Settings
    /// The settings with which this daemon started. Settings that only a start can change keep these values in force.
    let atStart: Settings
    /// The settings that programs persisted with `config.set`: a part of the programmatic layer, and the parts left out
    /// of it.
    private var persisted: DataObject
    /// The settings that contradict others at present. Each change of the settings tries them again.
    private var waiting: PendingSettings
    private var remote: RemoteSettings?
    private let remotePace = RemotePace()
    /// The loads that failed since the last one that succeeded.
    private(set) var failedLoads = FailedLoads()
    /// The warnings of this start.
    private let startWarnings: [String]
    /// The warnings of the settings in force.
    private var findings: [String]
    private let installer: SettingsInstaller
    private let check: SettingsCheck
    private let file: PersistedSettings
    /// The keys of the settings in the data directory; nil if they are not encrypted.
    private let keyring: Keyring?
    private weak var observer: (any SettingsObserver)?

    init(_ loaded: LoadedSettings, installer: SettingsInstaller) {
        self.installer = installer
        check = installer.configuration.settingsCheck(loaded.paths)
        file = PersistedSettings(
            directory: loaded.paths.dataDirectory, on: installer.configuration.settingsDisk, keyring: loaded.keyring)
        keyring = loaded.keyring
        layers = loaded.layers
        inForce = loaded.settings
        atStart = loaded.settings
        persisted = loaded.persisted
        waiting = PendingSettings(leftOut: loaded.leftOut, remote: loaded.refusedRemote)
        findings = loaded.reading.warnings.map(\.description)
        // These warnings end when the settings come into force, so they are not kept as warnings of the start.
        let temporary = loaded.leftOut.map(\.warning) + [StartSettings.warning(leavingOutCopy: loaded.remoteFaults)]
        startWarnings = loaded.startWarnings.filter { !temporary.contains($0) }.map(\.description)
        if loaded.refusedRemote != nil {
            failedLoads.refused(.remote, loaded.remoteFaults, at: installer.senderContext.scheduler.wall)
        }
    }

    /// The warnings about settings, for `status`.
    var warnings: [String] {
        startWarnings + failedLoads.warnings + waiting.leftOut.map(\.warning.description) + findings
            + waitingForStart.map { "\($0.rawValue): takes effect at the next start" }
    }

    /// The settings that the next start will change (Behaviour S2).
    var waitingForStart: [StartOnlySetting] {
        StartOnlySetting.changed(from: atStart, to: inForce)
    }

    /// Returns true if all of a layer is in force, and the layer's last load succeeded (Behaviour S1).
    func isWhole(_ layer: SettingsLayer) -> Bool {
        switch layer {
        case .file: !failedLoads.contains(.file)
        case .remote: !failedLoads.contains(.fetch) && !failedLoads.contains(.remote)
        case .programmatic: waiting.leftOut.isEmpty
        }
    }

    /// The merged layers. Settings that only a start can change have the values of the start (Behaviour S2).
    var effective: DataObject {
        waitingForStart.reduce(layers.effective) {
            $0.patched(with: $1.patch(of: atStart))
        }
    }

    /// The result of a change.
    enum Outcome {
        /// The change is in force. The key paths of the changed values are listed.
        case changed([String])
        /// The change is refused, and the settings are as before.
        case refused([SettingsFault])
    }

    // MARK: The start and the end

    /// Applies the loaded settings.
    func start() throws(StartFault) {
        try installer.start(inForce)
        rekey()
    }

    /// Writes the settings files in the data directory again if they are not encrypted as the present keys require. A
    /// file that cannot be written stays as it is until its next change.
    func rekey() {
        guard let keyring else { return }
        try? file.rekey()
        RemoteSettingsCopy(directory: installer.senderContext.dataDirectory, keyring: keyring).rekey()
    }

    /// Starts to fetch the remote layer.
    /// - Parameter observer: called after each change from now on.
    func proceed(reporting observer: some SettingsObserver) {
        self.observer = observer
        watchRemoteSettings()
    }

    /// Stops fetching the remote layer.
    func close() {
        remote = nil
    }

    // MARK: Changes

    /// Reads the configuration file again (Behaviour S3).
    func reload() -> Outcome {
        let outcome = readFile()
        switch outcome {
        case .changed: failedLoads.succeeded(.file)
        case .refused(let faults): failedLoads.refused(.file, faults, at: wall)
        }
        return outcome
    }

    private func readFile() -> Outcome {
        let configuration = installer.configuration
        do throws(SettingsFault) {
            let object = try configuration.options.configuration.map(configuration.readFileAgain)
            return change { $0[.file] = object ?? configuration.defaultsWithoutFile }
        } catch {
            return .refused([error])
        }
    }

    private var wall: Timestamp { installer.senderContext.scheduler.wall }

    /// Merges a patch into the programmatic layer, in which null removes a value.
    /// - Parameters:
    ///   - persists: true to keep the patch across a restart.
    ///   - then: called with the result, after the patch is on the disk if it persists.
    func set(_ patch: DataObject, persists: Bool, then: @escaping (Result<Void, ConfigSetFault>) -> Void) {
        let faults = persists ? PersistedSettings.faults(of: patch) : []
        switch faults.isEmpty ? set(patch, persists: persists) : .refused(faults) {
        case .refused(let faults): then(.failure(.refused(faults)))
        case .changed where !persists: then(.success(()))
        case .changed: then(persist(patch))
        }
    }

    private func set(_ patch: DataObject, persists: Bool) -> Outcome {
        var whole = JSONWriter()
        whole.object(layers[.programmatic].patched(with: patch))
        guard whole.bytes.count <= Limits.mostProgrammaticBytes else {
            let message = "the programmatic settings have at most \(Limits.mostProgrammaticBytes) bytes"
            return .refused([SettingsFault(path: "", message: message)])
        }
        let before = waiting
        waiting.remove(patch)
        let outcome = change(lasting: persists) { $0.patch(patch) }
        if case .refused = outcome { waiting = before }
        return outcome
    }

    /// Applies a change of the layers, or refuses it as a whole.
    /// - Parameter isLasting: false if a restart reverts the change. Such a change must not contain settings that only
    ///   a start can change.
    private func change(lasting isLasting: Bool = true, _ change: (inout SettingsLayers) -> Void) -> Outcome {
        var changed = layers
        change(&changed)
        var candidate = waiting.fullest(changed, check)
        if inForce.remote != nil, changed[.remote] == layers[.remote], candidate.reading.settings?.remote == nil {
            // Without a source there is no remote layer, as at the next start.
            var withoutRemote = waiting
            (withoutRemote.remote, changed[.remote]) = (nil, [:])
            candidate = withoutRemote.fullest(changed, check)
        }
        guard let settings = candidate.reading.settings else { return .refused(candidate.reading.faults) }
        if !isLasting, case let lost = StartOnlySetting.changed(from: inForce, to: settings), !lost.isEmpty {
            return .refused(lost.map(\.faultWithoutPersist))
        }
        let before = layers
        do throws(StartFault) {
            layers = candidate.layers
            try putInForce(settings, candidate.reading.warnings)
        } catch {
            layers = before
            return .refused([SettingsFault(path: error.path, message: error.message)])
        }
        if waiting.remote != nil, candidate.waiting.remote == nil { failedLoads.succeeded(.remote) }
        waiting = candidate.waiting
        return .changed(SettingsChange.paths(from: before.effective, to: layers.effective))
    }

    private func putInForce(_ new: Settings, _ warnings: [SettingsFault]) throws(StartFault) {
        let old = inForce
        let made = try installer.prepare(new, insteadOf: old)
        for refusal in installer.putInForce(new, insteadOf: old, made) {
            installer.log.write(.barrierRefused, ["fault": .string(refusal.description)])
        }
        inForce = new
        findings = warnings.map(\.description)
        observer?.settingsChanged(from: old, to: new)
        if new.remote != old.remote { watchRemoteSettings() }
    }

    // MARK: Persisted settings

    private func persist(_ patch: DataObject) -> Result<Void, ConfigSetFault> {
        persisted = persisted.patched(with: patch)
        do throws(DiskFault) {
            try file.write(persisted)
            return .success(())
        } catch {
            return .failure(.notPersisted)
        }
    }

    // MARK: The remote layer

    /// Starts, restarts or ends the fetching of the remote layer, by the settings in force.
    private func watchRemoteSettings() {
        failedLoads.succeeded(.fetch)
        if inForce.remote == nil { failedLoads.succeeded(.remote) }
        remote = inForce.remote.flatMap { source in
            RemoteSettings(source, in: installer.senderContext, pace: remotePace, keyring: keyring) { [weak self] in
                self?.takeRemote($0) ?? false
            }
        }
        remote?.start()
    }

    /// Applies the result of a fetch.
    /// - Returns: false if settings are refused.
    private func takeRemote(_ found: RemoteSettings.Found) -> Bool {
        if case .nothing(let cause) = found {
            failedLoads.failed(.fetch, cause, at: wall)
            installer.log.write(.remoteFailed, ["cause": .string(cause)])
            return false
        }
        failedLoads.succeeded(.fetch)
        switch found {
        case .settings(let settings): return takeRemote(settings)
        case .unreadable(let fault):
            waiting.remote = nil
            refuseRemote([fault])
        case .unchanged, .nothing: break
        }
        return false
    }

    private func takeRemote(_ settings: DataObject) -> Bool {
        // Settings that were refused and logged before: the next change of another layer tries them again.
        if settings == waiting.remote { return false }
        waiting.remote = nil
        if settings != layers[.remote], case .refused(let faults) = change({ $0[.remote] = settings }) {
            waiting.remote = settings
            refuseRemote(faults)
            return false
        }
        failedLoads.succeeded(.remote)
        return true
    }

    private func refuseRemote(_ faults: [SettingsFault]) {
        failedLoads.refused(.remote, faults, at: wall)
        let list = faults.map(\.description).joined(separator: "; ")
        installer.log.write(.remoteRefused, ["faults": .string(list)])
    }
}

/// The reason why `config.set` failed, in whole or in part.
enum ConfigSetFault: Error {
    /// The settings were refused as a whole, and nothing has changed.
    case refused([SettingsFault])
    /// The settings are in force but could not be written to the disk for the next start.
    case notPersisted
}
