import HeadgateData

/// The check that decides whether settings can be used. `--check`, a start and every change use it (Behaviour S2).
struct SettingsCheck {
    /// The names that settings may use.
    var vocabulary: SettingsVocabulary
    /// The environment of the process, for warnings of variables that are not set.
    var environment: [String: String]
    /// The data directory, or nil to skip the checks of the machine's files.
    var dataDirectory: String?
    /// The paths of files that the daemon itself uses, each with a description. No dispatcher may write them.
    var ownFiles: [String: String] = [:]

    /// Reads the merged layers.
    func read(_ layers: SettingsLayers) -> SettingsReading {
        let refused = LocalSetting.faults(of: layers[.remote])
        guard refused.isEmpty else { return SettingsReading(nil, SettingsFindings(faults: refused)) }
        let reading = Settings.read(
            layers.effective, vocabulary: vocabulary, directory: dataDirectory, ownFiles: ownFiles
        ) { path in
            layers.isRemoteOnly(path)
        }
        guard let settings = reading.settings else { return reading }
        return reading.adding(warnings: settings.references.compactMap { $0.warning(environment: environment) })
    }
}

extension SettingsLayers {
    /// Returns true if only the remote layer has a value at a path. The remote layer serves daemons of several
    /// versions, so keys that this version does not know are no fault there (Behaviour S2).
    fileprivate func isRemoteOnly(_ path: String) -> Bool {
        self[.remote].has(path) && !self[.file].has(path) && !self[.programmatic].has(path)
    }
}
