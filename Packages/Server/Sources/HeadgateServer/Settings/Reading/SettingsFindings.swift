/// All that was noticed while settings were read (Behaviour S2), in the order in which it was noticed.
public struct SettingsFindings: Equatable, Sendable {
    /// What keeps the settings from being used.
    public var faults: [SettingsFault] = []
    /// What may be meant otherwise: an unknown key, a scope that names no dispatcher, a file that is not there.
    public var warnings: [SettingsFault] = []

    public init(faults: [SettingsFault] = [], warnings: [SettingsFault] = []) {
        self.faults = faults
        self.warnings = warnings
    }

    /// Adds what was noticed elsewhere.
    public mutating func add(_ others: SettingsFindings) {
        faults += others.faults
        warnings += others.warnings
    }

    /// What `headgated --check` prints: a line for each, `path: message`, and `path: warning: message`.
    public var lines: [String] {
        faults.map(\.description)
            + warnings.map { SettingsFault(path: $0.path, message: "warning: " + $0.message).description }
    }
}
