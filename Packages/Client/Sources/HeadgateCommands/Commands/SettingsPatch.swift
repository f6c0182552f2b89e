import HeadgateData
import HeadgateWire

/// What `config set` is given, as the patch that the daemon takes (Behaviour S1).
enum SettingsPatch {
    /// Makes one patch of `PATH=JSON` words.
    static func parse(_ words: [String]) throws(UsageError) -> DataObject {
        var patch = DataObject()
        var paths: [(path: SettingsPath, word: String)] = []
        for word in words {
            let (path, value) = try assignment(word)
            if let other = paths.first(where: { $0.path.overlaps(path) }) {
                throw fault("\(other.word) and \(word) are about the same place")
            }
            paths.append((path, word))
            patch = adding(value, at: path.keys[...], to: patch)
        }
        return patch
    }

    private static func assignment(_ word: String) throws(UsageError) -> (SettingsPath, DataItem) {
        let (path, text): (SettingsPath, String?)
        do throws(SettingsPath.Fault) {
            (path, text) = try SettingsPath.parse(word)
        } catch {
            throw fault("\(word): \(error.message)")
        }
        guard let text else { throw fault("\(word) is not PATH=JSON") }
        return (path, try value(text, in: word))
    }

    private static func value(_ text: String, in word: String) throws(UsageError) -> DataItem {
        do throws(JSONFault) {
            return try DataItem(parsing: Array(text.utf8))
        } catch {
            let path = word.dropLast(text.count)
            throw fault("\(text) is not JSON; a text has quotes, and the shell needs some too: '\(path)\"\(text)\"'")
        }
    }

    private static func adding(_ value: DataItem, at keys: ArraySlice<String>, to object: DataObject) -> DataObject {
        guard let key = keys.first else { return object }
        var object = object
        let inner = keys.dropFirst()
        object[key] = inner.isEmpty ? value : .object(adding(value, at: inner, to: object.get(key: key) ?? [:]))
        return object
    }

    private static func fault(_ message: String) -> UsageError {
        UsageError(message: "config set: \(message)", command: "config set")
    }
}

/// A place in the settings: `dispatchers.collect.endpoint`.
private struct SettingsPath {
    /// The keys on the way, at least one.
    let keys: [String]

    /// Why a text is no path.
    struct Fault: Error {
        let message: String
    }

    /// Reads a path up to a `=` or the end. A key with dots or `=` in it stands in double quotes: `a."b.c"`.
    /// - Returns: the path and what stands behind the `=`; nil in place of that without one.
    static func parse(_ text: String) throws(Fault) -> (path: SettingsPath, value: String?) {
        var rest = Substring(text)
        var keys: [String] = []
        repeat {
            keys.append(try takeKey(&rest))
        } while take(".", &rest)
        let path = SettingsPath(keys: keys)
        if take("=", &rest) { return (path, String(rest)) }
        guard rest.isEmpty else { throw Fault(message: "what is \(rest)?") }
        return (path, nil)
    }

    /// Whether one of them is inside the other, or the same.
    func overlaps(_ other: SettingsPath) -> Bool {
        zip(keys, other.keys).allSatisfy(==)
    }

    private static func takeKey(_ rest: inout Substring) throws(Fault) -> String {
        let key = take("\"", &rest) ? try takeQuoted(&rest) : try takeBare(&rest)
        guard !key.isEmpty else { throw Fault(message: "a key is empty") }
        return key
    }

    private static func takeBare(_ rest: inout Substring) throws(Fault) -> String {
        let key = rest.prefix { $0 != "." && $0 != "=" }
        guard !key.hasSuffix("]") else { throw Fault(message: "arrays are set as a whole") }
        rest.removeFirst(key.count)
        return String(key)
    }

    private static func takeQuoted(_ rest: inout Substring) throws(Fault) -> String {
        guard let end = rest.firstIndex(of: "\"") else { throw Fault(message: "a quote is not closed") }
        defer { rest = rest[rest.index(after: end)...] }
        return String(rest[..<end])
    }

    private static func take(_ character: Character, _ rest: inout Substring) -> Bool {
        guard rest.first == character else { return false }
        rest.removeFirst()
        return true
    }
}
