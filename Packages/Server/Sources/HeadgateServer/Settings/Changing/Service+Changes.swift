import HeadgateCore
import HeadgateData

/// Changes of the settings while the service runs.
extension Service {
    /// The name under which the store keeps what `config.set` persists.
    private static let keptSettings = "settings"

    /// Takes new settings into force, with all that follows from them outside the gate.
    func change(to reading: SettingsReading) throws(StartFault) {
        guard let new = reading.settings else { return }
        let old = settings
        let made = try prepare(new, insteadOf: old)
        for refusal in putInForce(new, insteadOf: old, made) { log.warning(refusal.description) }
        settings = new
        note(reading.warnings, startOnly: startOnlyChanges(from: old, to: new))
        collecting.change(to: new.collectors)
        for session in sessions.all { session.settingsChanged(from: old, to: new) }
        if new.limits.maxDepth != old.limits.maxDepth { makeDecoder() }
        if new.network != old.network { watchNetwork() }
        if new.remote != old.remote { followRemoteSettings() }
    }

    /// What only a start can change (`status` warns that it waits for one).
    private func startOnlyChanges(from old: Settings, to new: Settings) -> [String] {
        var names: [String] = []
        if new.socket != old.socket { names.append("socket") }
        if new.dataDirectory != old.dataDirectory { names.append("data_dir") }
        if new.durability != old.durability { names.append("durability") }
        return names
    }

    private func note(_ findings: [SettingsFault], startOnly: [String]) {
        settingsWarnings =
            findings.map(\.description) + startOnly.map { "\($0): takes effect at the next start" }
    }

    /// Reads the configuration file again, and says in the log what came of it.
    func reload() {
        switch control.reload() {
        case .changed(let paths):
            let list = paths.isEmpty ? "nothing" : paths.joined(separator: ", ")
            log.notice("settings read again; changed: \(list)")
        case .refused(let faults):
            for fault in faults { log.error("settings are refused, and stay as they were: \(fault)") }
        }
    }

    // MARK: What is kept

    /// Merges a patch into the programmatic layer; with `persists` it is kept over a restart. `then` is told once it is.
    func set(_ patch: DataObject, persists: Bool, then: @escaping (Result<Void, ConfigSetFault>) -> Void) {
        switch control.set(patch) {
        case .refused(let faults): then(.failure(.refused(faults)))
        case .changed where !persists: then(.success(()))
        case .changed:
            var json = JSONWriter()
            json.object(control.persisting(patch))
            gate.keep(json.bytes, as: Service.keptSettings) { then($0 == nil ? .success(()) : .failure(.notKept)) }
        }
    }

    /// Takes up the settings that were kept, at the start. Those that cannot be used any more are left out, with a warning.
    func restoreKeptSettings() {
        guard let bytes = gate.keptBytes(as: Service.keptSettings) else { return }
        guard let item = try? DataItem(parsing: bytes), case .object(let kept) = item else {
            return warnings.append("what config.set persisted cannot be read, and is left out")
        }
        guard case .refused(let faults) = control.restore(kept) else { return }
        let list = faults.map(\.description).joined(separator: "; ")
        warnings.append("what config.set persisted is left out: \(list)")
    }

    // MARK: Remote settings

    /// Follows the remote layer's source, or ends that.
    func followRemoteSettings() {
        remoteSettings = settings.remote.map { source in
            RemoteSettings(source, directory: places.dataDirectory, worker: worker, http: senders.http) { [weak self] in
                self?.takeRemote($0) ?? false
            }
        }
        remoteSettings?.start()
    }

    private func takeRemote(_ settings: DataObject) -> Bool {
        guard case .refused(let faults) = control.setRemote(settings) else { return true }
        log.warning("remote settings are refused: " + faults.map(\.description).joined(separator: "; "))
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
