import Glibc
import HeadgateData

/// The section `store.encryption` (Behaviour C1, C2).
public struct EncryptionSettings: Equatable, Sendable {
    /// The source of the keys.
    enum Source: Equatable, Sendable {
        case file(String)
        /// The name of a credential of systemd.
        case credential(String)
        /// The name of an environment variable.
        case variable(String)
    }

    var source: Source
    /// False while encryption is being switched off: the keys only decrypt.
    var isOn: Bool

    private static let sources = ["key_file", "key_credential", "key_env"]
    /// The most bytes of a key file.
    private static let longest = 64 << 10

    /// - Returns: nil if the section has a fault.
    init?(_ reader: SettingsReader) {
        let found: [Source?] = [
            reader.readFile("key_file").map { .file($0) },
            EncryptionSettings.credential(reader).map { .credential($0) },
            reader.environmentVariable("key_env").map { .variable($0) },
        ]
        let isEnabled = reader.bool("enabled")
        guard reader.keys.count(where: EncryptionSettings.sources.contains) == 1 else {
            reader.fault("must have exactly one of `key_file`, `key_credential` and `key_env`")
            return nil
        }
        guard let source = found.compactMap({ $0 }).first else { return nil }
        (self.source, isOn) = (source, isEnabled ?? true)
    }

    private static func credential(_ reader: SettingsReader) -> String? {
        guard let name = reader.string("key_credential") else { return nil }
        guard !name.isEmpty, !name.hasPrefix("."), !name.utf8.contains(where: { $0 == 0 || $0 == UInt8(ascii: "/") })
        else {
            reader.fault("key_credential", "", "must be the name of a credential")
            return nil
        }
        return name
    }

    /// The section as it is in the configuration.
    var object: DataObject {
        let (key, value) =
            switch source {
            case .file(let path): ("key_file", path)
            case .credential(let name): ("key_credential", name)
            case .variable(let name): ("key_env", name)
            }
        return DataObject([(key, .string(value)), ("enabled", .bool(isOn))])
    }

    /// The section with null for the sources that it does not name, so that it replaces another section.
    var wholeObject: DataObject {
        EncryptionSettings.sources.reduce(object) { object, key in
            var object = object
            if object[key] == nil { object[key] = .null }
            return object
        }
    }

    /// Reads the keys.
    /// - Parameter environment: the environment variables.
    func keys(_ environment: [String: String]) throws(StartFault) -> EncryptionKeys {
        let text: String
        switch source {
        case .variable(let name):
            guard let value = environment[name] else { throw fault("the environment variable \(name) is not set") }
            // A variable has one line in most places where it can be set.
            text = value.replacing(",", with: "\n")
        case .file, .credential:
            guard let path = path(environment) else {
                throw fault("there are no credentials: $CREDENTIALS_DIRECTORY is not set")
            }
            guard let bytes = SmallFile(path).contents(upTo: EncryptionSettings.longest) else {
                throw fault("\(path) cannot be read as a file of keys")
            }
            text = String(decoding: bytes, as: UTF8.self)
        }
        do throws(EncryptionKeys.Fault) { return try EncryptionKeys(text) } catch { throw fault(error.message) }
    }

    private func fault(_ message: String) -> StartFault { StartFault(message, at: "store.encryption") }

    /// The path of the file with the keys; nil if the keys are in no file.
    func path(_ environment: [String: String]) -> String? {
        switch source {
        case .file(let path): path
        case .credential(let name): environment["CREDENTIALS_DIRECTORY"].map { $0 + "/" + name }
        case .variable: nil
        }
    }

    /// Returns true if users other than the file's owner may read or write the keys.
    func isExposed(_ environment: [String: String]) -> Bool {
        guard let path = path(environment) else { return false }
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & 0o077 != 0
    }
}
