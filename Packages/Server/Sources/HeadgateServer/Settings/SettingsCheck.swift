import HeadgateData

/// Says whether settings can be used: one check for `--check`, for a start and for every change (Behaviour S2).
struct SettingsCheck {
    /// The names that settings may use.
    var vocabulary: SettingsVocabulary
    /// The process's environment, for warnings of variables that are not set.
    var environment: [String: String]
    /// The data directory; nil: nothing is held against the machine's files.
    var dataDirectory: String?

    /// Reads what the layers come to.
    func read(_ layers: SettingsLayers) -> SettingsReading {
        let reading = Settings.read(layers.effective, vocabulary: vocabulary, directory: dataDirectory) { path in
            layers.isRemoteOnly(path)
        }
        guard let settings = reading.settings else { return reading }
        return reading.adding(warnings: settings.references.compactMap { $0.warning(environment: environment) })
    }
}

extension SettingsLayers {
    /// Returns true if only the remote layer has something at a path. It serves daemons of several versions, so that keys
    /// that this one does not know are no fault in it (Behaviour S2).
    fileprivate func isRemoteOnly(_ path: String) -> Bool {
        self[.remote].has(path) && !self[.file].has(path) && !self[.programmatic].has(path)
    }
}
