import HeadgateData

/// The display of settings without secrets, for `config.get` (Behaviour X4).
///
/// Secrets are the values of headers with a secret-sounding name, and the user and password of a URL. A reference to a
/// secret, like a file or a variable, is shown. A value that may be a secret is hidden.
public enum SettingsDisplay {
    /// The text that replaces a secret.
    public static let blank = "***"

    /// Returns the settings in force: the merged layers, the defaults of sections, and the paths of socket and data.
    /// - Parameter secrets: the key paths of further secrets.
    public static func inForce(_ effective: DataObject, paths: DaemonPaths, secrets: Set<String> = []) -> DataObject {
        let found: DataObject = [
            "socket": paths.socket.map { .string($0) } ?? .null, "data_dir": .string(paths.dataDirectory),
        ]
        // The paths in use come last, because the command line overrides the settings.
        return blanked(Settings().sections.patched(with: effective).patched(with: found), secrets: secrets)
    }

    /// Returns settings with their secrets hidden.
    /// - Parameter secrets: the key paths of further secrets.
    public static func blanked(_ settings: DataObject, secrets: Set<String> = []) -> DataObject {
        blanked(settings, at: "", secrets)
    }

    private static func blanked(_ object: DataObject, at path: String, _ secrets: Set<String>) -> DataObject {
        DataObject(
            object.map { key, value in
                let keyPath = path.isEmpty ? key : "\(path).\(key)"
                return (
                    key, secrets.contains(keyPath) ? .string(blank) : blanked(value, key: key, at: keyPath, secrets)
                )
            })
    }

    private static func blanked(
        _ item: DataItem, key: String, at path: String, _ secrets: Set<String>
    ) -> DataItem {
        switch item {
        case .object(let headers) where key == "headers":
            .object(DataObject(headers.map { ($0.key, blankedHeader($0.value, name: $0.key)) }))
        case .object(let object): .object(blanked(object, at: path, secrets))
        case .array(let items): .array(items.map { blanked($0, key: key, at: path, secrets) })
        case .string(let text): .string(blankedURL(text, needsScheme: !bareURLKeys.contains(key)))
        default: item
        }
    }

    /// The keys of URLs that may lack a scheme.
    private static let bareURLKeys: Set<String> = ["endpoint", "servers", "url"]

    private static func blankedHeader(_ value: DataItem, name: String) -> DataItem {
        if case .string = value, HeaderName.soundsSecret(name) { return .string(blank) }
        return blanked(value, key: name, at: "", [])
    }

    /// Returns the text with `***` in place of the user and password of its URL.
    ///
    /// The search works on bytes, as curl does: `@` and a combining accent are one Swift character.
    private static func blankedURL(_ text: String, needsScheme: Bool) -> String {
        guard let start = indexOfHost(in: text.utf8, needsScheme: needsScheme) else { return text }
        let authority = text.utf8[start...].prefix { !"/?#".utf8.contains($0) }
        guard let at = authority.lastIndex(of: UInt8(ascii: "@")) else { return text }
        return text[..<start] + blank + text[at...]
    }

    /// Returns the index of a URL's authority: behind the scheme, or at the start if the scheme may be missing.
    private static func indexOfHost(in text: String.UTF8View, needsScheme: Bool) -> String.Index? {
        let scheme = text.prefix { !":/@".utf8.contains($0) }
        let mark = "://".utf8
        if text[scheme.endIndex...].starts(with: mark) { return text.index(scheme.endIndex, offsetBy: mark.count) }
        return needsScheme ? nil : text.startIndex
    }
}
