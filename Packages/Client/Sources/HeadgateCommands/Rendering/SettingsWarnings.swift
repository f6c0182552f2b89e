import HeadgateData

/// The warnings of `status` about single settings, which begin with a key path.
enum SettingsWarnings {
    private static let waits = ": takes effect at the next start"

    /// Returns the warnings about the settings that a patch changes.
    static func about(_ patch: DataObject, in status: DataObject) -> [String] {
        let paths = patch.leafPaths
        return all(status).filter { warning in
            let path = warning.prefix { $0 != ":" }
            return paths.contains { path == $0 || path.hasPrefix($0 + ".") || $0.hasPrefix(path + ".") }
        }
    }

    /// Returns the warnings about settings that take effect at the next start.
    static func ofWaiting(in status: DataObject) -> [String] {
        all(status).filter { $0.hasSuffix(waits) }
    }

    private static func all(_ status: DataObject) -> [String] {
        status.get(key: "warnings", as: [String].self) ?? []
    }
}
