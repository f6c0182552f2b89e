/// A finding about one setting: a fault, which prevents the settings from being used, or a warning (Behaviour S2).
///
/// The message never contains the setting's value, which may be a secret (Behaviour X4).
public struct SettingsFault: Error, Hashable, Sendable {
    /// The key path, like `dispatchers.collect.endpoint` or `access.observe.uids[1]`; empty for the settings as a
    /// whole.
    public var path: String
    /// The problem and the allowed values, for people.
    public var message: String

    public init(path: String, message: String) {
        self.path = path
        self.message = message
    }
}

extension SettingsFault: CustomStringConvertible {
    /// `path: message`, or the message alone if the path is empty.
    public var description: String {
        path.isEmpty ? message : "\(path): \(message)"
    }
}

/// The faults and warnings of one reading of the settings (Behaviour S2), in the order in which they were found.
public struct SettingsFindings: Equatable, Sendable {
    /// Faults. Settings with a fault are not used.
    public var faults: [SettingsFault] = []
    /// Warnings: usable settings that are probably a mistake, like a scope that names no dispatcher or a file that does
    /// not exist.
    public var warnings: [SettingsFault] = []
    /// Keys that no reader requested. ``judgeUnknownKeys(forgiving:)`` turns them into faults or warnings.
    public var unknownKeys: [SettingsFault] = []

    public init(faults: [SettingsFault] = [], warnings: [SettingsFault] = []) {
        self.faults = faults
        self.warnings = warnings
    }

    /// Adds the findings of another reading.
    public mutating func add(_ others: SettingsFindings) {
        faults += others.faults
        warnings += others.warnings
        unknownKeys += others.unknownKeys
    }

    /// Turns each unknown key into a fault, because a mistyped setting protects nothing, or into a warning if it is
    /// forgiven (Behaviour S2).
    /// - Parameter forgives: returns true if the unknown key at a key path is only a warning.
    public mutating func judgeUnknownKeys(forgiving forgives: (String) -> Bool) {
        for fault in unknownKeys {
            if forgives(fault.path) { warnings.append(fault) } else { faults.append(fault) }
        }
        unknownKeys = []
    }

    /// The output of `headgated --check`: one line per finding, `path: message` or `path: warning: message`.
    public var lines: [String] {
        faults.map(\.description)
            + warnings.map { SettingsFault(path: $0.path, message: "warning: " + $0.message).description }
    }
}

/// A file or an environment variable that the settings refer to.
///
/// A missing one is a warning, not a fault: it may be created later, or a check may run without the service's
/// environment. Until then the events of its dispatcher stay in the store.
public struct SettingsReference: Equatable, Sendable {
    /// The kind and name of a reference's target.
    public enum Target: Equatable, Sendable {
        /// A file, by path.
        case file(String)
        /// An environment variable, by name.
        case variable(String)
    }

    /// The key path of the setting that contains the reference.
    public let path: String
    /// The file or environment variable.
    public let target: Target
}
