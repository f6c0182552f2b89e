import Glibc
import HeadgateData
import HeadgateEncryption

/// The section `store.encryption` (Behaviour C1, C2).
public struct EncryptionSettings: Equatable, Sendable {
    /// The kinds of places that hold the keys. The raw value is the member of the section that names the place.
    enum Source: String, CaseIterable {
        case file = "key_file"
        case credential = "key_credential"
        case variable = "key_env"

        /// Returns the name of the source, or nil if the member is absent or wrong.
        fileprivate func read(_ reader: SettingsReader) -> String? {
            switch self {
            case .file: reader.readFile(rawValue)
            case .credential: EncryptionSettings.credential(reader)
            case .variable: reader.environmentVariable(rawValue)
            }
        }
    }

    let source: Source
    /// The path of the file, or the name of systemd's credential or of the environment variable.
    let name: String
    /// False while encryption is being switched off: the keys only decrypt.
    let isOn: Bool

    /// The most bytes of a key file.
    private static let longest = 64 << 10

    /// - Returns: nil if the section has a fault.
    init?(_ reader: SettingsReader) {
        let found = Source.allCases.compactMap { source in source.read(reader).map { (source, $0) } }
        isOn = reader.bool("enabled") ?? true
        guard reader.keys.count(where: { Source(rawValue: $0) != nil }) == 1 else {
            reader.fault("must have exactly one of `key_file`, `key_credential` and `key_env`")
            return nil
        }
        guard let (source, name) = found.first else { return nil }
        (self.source, self.name) = (source, name)
    }

    private static func credential(_ reader: SettingsReader) -> String? {
        let key = Source.credential.rawValue
        guard let name = reader.string(key) else { return nil }
        guard !name.isEmpty, !name.hasPrefix("."), !name.utf8.contains(where: { $0 == 0 || $0 == UInt8(ascii: "/") })
        else {
            reader.fault(key, "", "must be the name of a credential")
            return nil
        }
        return name
    }

    /// The section as it is in the configuration.
    var object: DataObject {
        DataObject([(source.rawValue, .string(name)), ("enabled", .bool(isOn))])
    }

    /// The section as a patch that replaces another section: the other sources are null.
    var wholeObject: DataObject {
        var object = object
        for other in Source.allCases where other != source { object[other.rawValue] = .null }
        return object
    }

    /// Reads the keys.
    /// - Parameter environment: the environment variables.
    func keys(_ environment: [String: String]) throws(StartFault) -> EncryptionKeys {
        let text: String
        switch source {
        case .variable:
            guard let value = environment[name] else { throw fault("the environment variable \(name) is not set") }
            // A variable usually has one line, so commas separate its keys.
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

    /// Returns the path of the file with the keys, or nil if the keys are in no file.
    func path(_ environment: [String: String]) -> String? {
        switch source {
        case .file: name
        case .credential: environment["CREDENTIALS_DIRECTORY"].map { $0 + "/" + name }
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
