import HeadgateData

/// Settings as `config.get` shows them, without secrets (Behaviour X4).
///
/// A secret is the text of a header whose name sounds like one, and the user and password in a URL. What refers to a
/// secret (a file, a variable) is shown. Where it is not sure that something is none, it is blanked.
public enum SettingsDisplay {
    /// What stands for a secret.
    public static let blank = "***"

    /// The settings in force: what the layers come to, the defaults of the sections that have some, and where the socket
    /// and the data are.
    /// - Parameter secrets: the places of what is a secret beside what looks like one.
    public static func inForce(_ effective: DataObject, places: Places, secrets: Set<String> = []) -> DataObject {
        let found: DataObject = [
            "socket": places.socket.map { .string($0) } ?? .null, "data_dir": .string(places.dataDirectory),
        ]
        // Where they are was found with the settings in mind, and the command line wins over those.
        return blanked(Settings().sections.patched(with: effective).patched(with: found), secrets: secrets)
    }

    /// Settings as they are but for their secrets.
    /// - Parameter secrets: the places of what is a secret beside what looks like one.
    public static func blanked(_ settings: DataObject, secrets: Set<String> = []) -> DataObject {
        blanked(settings, at: "", secrets)
    }

    private static func blanked(_ object: DataObject, at path: String, _ secrets: Set<String>) -> DataObject {
        DataObject(
            object.map { key, value in
                let place = path.isEmpty ? key : "\(path).\(key)"
                return (key, secrets.contains(place) ? .string(blank) : blanked(value, key: key, at: place, secrets))
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

    /// The keys of URLs that may go without a scheme.
    private static let bareURLKeys: Set<String> = ["endpoint", "servers", "url"]

    private static func blankedHeader(_ value: DataItem, name: String) -> DataItem {
        if case .string = value, HeaderName.soundsSecret(name) { return .string(blank) }
        return blanked(value, key: name, at: "", [])
    }

    /// The text with `***` for what stands before the `@` of a URL's host.
    ///
    /// Works on bytes, as curl does: a character may hide an `@` together with an accent.
    private static func blankedURL(_ text: String, needsScheme: Bool) -> String {
        guard let start = placeOfHost(in: text.utf8, needsScheme: needsScheme) else { return text }
        let authority = text.utf8[start...].prefix { !"/?#".utf8.contains($0) }
        guard let at = authority.lastIndex(of: UInt8(ascii: "@")) else { return text }
        return text[..<start] + blank + text[at...]
    }

    /// Where the authority of a URL begins: behind its scheme, or at its start when it may go without one.
    private static func placeOfHost(in text: String.UTF8View, needsScheme: Bool) -> String.Index? {
        let scheme = text.prefix { !":/@".utf8.contains($0) }
        let mark = "://".utf8
        if text[scheme.endIndex...].starts(with: mark) { return text.index(scheme.endIndex, offsetBy: mark.count) }
        return needsScheme ? nil : text.startIndex
    }
}
