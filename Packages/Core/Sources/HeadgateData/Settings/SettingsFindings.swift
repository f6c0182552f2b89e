/// What is wrong with one place in the settings: a fault, which keeps them from being used, or a warning
/// (Behaviour S2).
///
/// The message never repeats a value, which may be a secret (Behaviour X4).
public struct SettingsFault: Error, Hashable, Sendable {
    /// The place, like `dispatchers.collect.endpoint` or `access.observe.uids[1]`; empty for the settings as a whole.
    public var path: String
    /// What is wrong there and what is allowed, for people.
    public var message: String

    public init(path: String, message: String) {
        self.path = path
        self.message = message
    }
}

extension SettingsFault: CustomStringConvertible {
    /// `path: message`, or the message alone when it is about the whole.
    public var description: String {
        path.isEmpty ? message : "\(path): \(message)"
    }
}

/// All that was noticed while settings were read (Behaviour S2), in the order in which it was noticed.
public struct SettingsFindings: Equatable, Sendable {
    /// Faults that keep the settings from being used.
    public var faults: [SettingsFault] = []
    /// Settings that can be used but may be meant otherwise: a scope that names no dispatcher, a file that is not there.
    public var warnings: [SettingsFault] = []
    /// Keys that no setting has. ``judgeUnknownKeys(forgiving:)`` makes faults or warnings of them.
    public var unknownKeys: [SettingsFault] = []

    public init(faults: [SettingsFault] = [], warnings: [SettingsFault] = []) {
        self.faults = faults
        self.warnings = warnings
    }

    /// Adds what was noticed elsewhere.
    public mutating func add(_ others: SettingsFindings) {
        faults += others.faults
        warnings += others.warnings
        unknownKeys += others.unknownKeys
    }

    /// Makes a fault of each unknown key, because a mistyped setting protects nothing, or a warning where it is forgiven
    /// (Behaviour S2).
    /// - Parameter forgives: gets the path of an unknown key.
    public mutating func judgeUnknownKeys(forgiving forgives: (String) -> Bool) {
        for fault in unknownKeys {
            if forgives(fault.path) { warnings.append(fault) } else { faults.append(fault) }
        }
        unknownKeys = []
    }

    /// What `headgated --check` prints: a line for each, `path: message`, and `path: warning: message`.
    public var lines: [String] {
        faults.map(\.description)
            + warnings.map { SettingsFault(path: $0.path, message: "warning: " + $0.message).description }
    }
}

/// A file or an environment variable that settings refer to and do not hold.
///
/// One that is missing is a warning: it may come later, a check may run without the service's environment, and the
/// events of its dispatcher are safe meanwhile.
public struct SettingsReference: Equatable, Sendable {
    /// What is referred to.
    public enum Target: Equatable, Sendable {
        /// A file, by its path.
        case file(String)
        /// An environment variable, by its name.
        case variable(String)
    }

    /// Where the settings name it.
    public let path: String
    /// What they name.
    public let target: Target
}
