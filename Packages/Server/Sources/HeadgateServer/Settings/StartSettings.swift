import HeadgateData

/// The merge of all layers for a start, before anything is opened. If persisted settings have faults, only the faulty
/// parts are left out (Behaviour S1).
struct StartSettings {
    let check: SettingsCheck
    /// The configuration file, or the default configuration if there is none.
    var file: DataObject
    /// The settings of the embedding program.
    var program: DataObject
    /// The copy of the remote layer, or nil if there is none.
    var remote: DataObject?
    /// The settings that `config.set` persisted.
    var persisted: DataObject

    /// The layers that a start can use, and the settings left out of them.
    struct Outcome {
        var layers: SettingsLayers
        var reading: SettingsReading
        var leftOut: [LeftOutSettings] = []
        /// The remote settings if they were refused, or nil.
        var refusedRemote: DataObject?
        /// The faults of the refused remote settings.
        var remoteFaults: [SettingsFault] = []
        /// The warnings about all settings left out.
        var warnings: [SettingsFault] = []
    }

    /// Resolves the layers with as few omissions as possible: first parts of the persisted settings, then the remote
    /// copy.
    func resolve() -> Outcome {
        let whole = trimmed(remote: remote ?? [:])
        guard whole.reading.settings == nil, let remote else { return whole }
        var outcome = trimmed(remote: [:])
        guard outcome.reading.settings != nil else { return outcome }
        outcome.refusedRemote = remote
        outcome.remoteFaults = whole.reading.faults
        outcome.warnings.append(StartSettings.warning(leavingOutCopy: whole.reading.faults))
        return outcome
    }

    /// Returns the warning for the log about a copy of the remote settings that was left out.
    static func warning(leavingOutCopy faults: [SettingsFault]) -> SettingsFault {
        let list = faults.map(\.description).joined(separator: "; ")
        return SettingsFault(path: "", message: "the local copy of the remote settings is ignored: \(list)")
    }

    /// Returns the merged layers without the faulty parts of the persisted settings, or without all of these if no
    /// fault points to a part.
    private func trimmed(remote: DataObject) -> Outcome {
        var kept = persisted
        var leftOut: [LeftOutSettings] = []
        while true {
            let layers = layers(remote, kept)
            let reading = check.read(layers)
            guard reading.settings == nil, !kept.isEmpty else {
                return Outcome(
                    layers: layers, reading: reading, leftOut: leftOut, warnings: leftOut.map(\.warning))
            }
            let cut = StartSettings.cut(&kept, reading.faults)
            leftOut += cut.isEmpty ? StartSettings.cutAll(&kept, reading.faults) : cut
        }
    }

    private func layers(_ remote: DataObject, _ kept: DataObject) -> SettingsLayers {
        var layers = SettingsLayers()
        layers[.file] = file
        layers[.remote] = remote
        layers[.programmatic] = program.patched(with: kept)
        return layers
    }

    /// Removes the parts that faults point to.
    private static func cut(_ kept: inout DataObject, _ faults: [SettingsFault]) -> [LeftOutSettings] {
        faults.compactMap { fault in
            guard let part = SettingsPart(of: kept, at: fault.path), let patch = part.patch(in: kept) else {
                return nil
            }
            kept = part.removed(from: kept)
            // A section without members is removed, too.
            if case .object([:])? = kept[part.names[0]] { kept[part.names[0]] = nil }
            return LeftOutSettings(part: part, patch: patch, fault: fault.description)
        }
    }

    /// Removes all persisted settings, because no fault points to a part of them.
    private static func cutAll(_ kept: inout DataObject, _ faults: [SettingsFault]) -> [LeftOutSettings] {
        let fault = faults.map(\.description).joined(separator: "; ")
        defer { kept = [:] }
        return kept.compactMap { name, _ in
            guard let part = SettingsPart(of: [name: .null], at: name), let patch = part.patch(in: kept) else {
                return nil
            }
            return LeftOutSettings(part: part, patch: patch, fault: fault)
        }
    }
}
