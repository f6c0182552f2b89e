import HeadgateData
import HeadgateTransport

extension SettingsReader {
    /// The value of a key as a `T`; nil when it is absent, or something else, which is noted.
    func value<Value: DataItemConvertible>(_ key: String, _ type: Value.Type, mustBe: String) -> Value? {
        guard let item = item(key) else { return nil }
        if let value = Value(dataItem: item) { return value }
        fault(key, "", "must be \(mustBe)")
        return nil
    }

    /// A text.
    public func string(_ key: String) -> String? {
        value(key, String.self, mustBe: "a string")
    }

    /// A text with something in it and no NUL, like a path.
    public func filePath(_ key: String) -> String? {
        guard let text = string(key) else { return nil }
        if !text.isEmpty, !text.utf8.contains(0) { return text }
        fault(key, "", "must be a path")
        return nil
    }

    /// The path of a file that is read, which is warned of where it cannot be.
    public func readFile(_ key: String) -> String? {
        guard let path = filePath(key) else { return nil }
        refer(key, to: .file(path))
        return path
    }

    /// The name of an environment variable, which is warned of where it is not set.
    public func environmentVariable(_ key: String) -> String? {
        guard let name = string(key) else { return nil }
        guard !name.isEmpty, name.utf8.allSatisfy({ $0 != 0 && $0 != UInt8(ascii: "=") }) else {
            fault(key, "", "must be the name of an environment variable")
            return nil
        }
        refer(key, to: .variable(name))
        return name
    }

    /// A text that is never shown (Behaviour X4).
    public func secret(_ key: String) -> String? {
        keepSecret(key)
        return string(key)
    }

    /// The path of a Unix socket.
    func socketPath(_ key: String) -> String? {
        guard let path = filePath(key) else { return nil }
        if path.utf8.count <= UnixAddress.longestPath { return path }
        fault(key, "", "must be a path of at most \(UnixAddress.longestPath) bytes")
        return nil
    }

    /// Yes or no, put where the default stands.
    public func bool(_ key: String, into place: inout Bool) {
        place = value(key, Bool.self, mustBe: "true or false") ?? place
    }

    /// One of some words, put where the default stands.
    public func word<Word: RawRepresentable<String>>(_ key: String, of words: [Word], into place: inout Word) {
        guard let item = item(key) else { return }
        if let text = String(dataItem: item), let word = words.first(where: { $0.rawValue == text }) {
            place = word
        } else {
            fault(key, "", SettingsReader.mustBeOne(of: words.map(\.rawValue)))
        }
    }

    /// Notes the absence of a key that has no default.
    public func require(_ key: String) {
        if item(key) == nil { fault(key, "", "is required") }
    }

    /// The message that lists what is allowed.
    static func mustBeOne(of words: [String]) -> String {
        "must be one of: " + words.joined(separator: ", ")
    }
}
