import HeadgateData

extension SettingsLayers {
    /// Reads the configuration file into its layer, at the start and at a reload (Behaviour S3).
    ///
    /// With a fault in the file, or in what comes of all layers together, everything stays as it was.
    /// - Parameters:
    ///   - file: the file's path; nil: there is none.
    ///   - fallback: what counts where there is none.
    ///   - environment: the process's environment, for warnings of what the settings miss in it.
    public mutating func load(
        file: String?, orElse fallback: DataObject = DefaultConfiguration.object, environment: [String: String],
        vocabulary: SettingsVocabulary = .builtIn
    ) -> SettingsReading {
        let object: DataObject
        do throws(SettingsFault) {
            object = try file.map(SettingsFile.read) ?? fallback
        } catch {
            return SettingsReading(fault: error)
        }
        let reading = change(vocabulary: vocabulary) { $0[.file] = object }
        guard let settings = reading.settings else { return reading }
        return reading.adding(warnings: SettingsReferences.warnings(about: settings, environment: environment))
    }
}
