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
