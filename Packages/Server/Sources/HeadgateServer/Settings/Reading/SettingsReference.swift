import Glibc

/// A file or an environment variable that settings refer to and do not hold.
///
/// One that is missing is a warning: it may come later, a check may run without the service's environment, and the
/// events of its dispatcher are safe meanwhile.
struct SettingsReference: Equatable, Sendable {
    enum Target: Equatable, Sendable {
        case file(String)
        case variable(String)
    }

    /// Where the settings name it.
    let path: String
    let target: Target

    /// A warning when it is not there.
    func warning(
        environment: [String: String], isReadable: (String) -> Bool = SettingsReference.isReadable
    ) -> SettingsFault? {
        switch target {
        case .file(let file) where !isReadable(file): SettingsFault(path: path, message: "the file cannot be read")
        case .variable(let name) where environment[name] == nil:
            SettingsFault(path: path, message: "the environment variable is not set")
        default: nil
        }
    }

    /// Whether this process may read a file.
    static func isReadable(_ path: String) -> Bool {
        access(path, R_OK) == 0
    }
}
