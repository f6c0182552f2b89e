import HeadgateData

/// What came of reading settings: they are there when nothing is wrong with them (Behaviour S2).
public struct SettingsReading: Equatable, Sendable {
    /// The settings; nil when there is a fault.
    public let settings: Settings?
    /// All faults and warnings, not only the first.
    public let findings: SettingsFindings

    init(_ settings: Settings?, _ findings: SettingsFindings) {
        self.settings = findings.faults.isEmpty ? settings : nil
        self.findings = findings
    }

    /// Settings that could not even be parsed.
    init(fault: SettingsFault) {
        self.init(nil, SettingsFindings(faults: [fault]))
    }

    /// What keeps the settings from being used; empty when they are there.
    public var faults: [SettingsFault] { findings.faults }

    /// What the settings can be used in spite of.
    public var warnings: [SettingsFault] { findings.warnings }

    /// The same with more warnings.
    func adding(warnings: [SettingsFault]) -> SettingsReading {
        var more = findings
        more.warnings += warnings
        return SettingsReading(settings, more)
    }
}
