import Glibc
import HeadgateData

extension SettingsReference {
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
