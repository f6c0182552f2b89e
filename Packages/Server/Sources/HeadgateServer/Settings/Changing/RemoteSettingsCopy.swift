import Glibc
import HeadgateData
import HeadgateWire

/// The copy of the remote settings in the data directory, with the URL they came from and their `ETag`.
struct RemoteSettingsCopy {
    private let path: String

    init(directory: String) {
        path = "\(directory)/remote-settings.json"
    }

    /// The copy, if there is one from this URL that can be read.
    func read(url: String) -> (settings: DataObject, tag: String?)? {
        guard let copy = try? SettingsFile.read(path), copy.get(key: "url", as: String.self) == url,
            let settings = copy.get(key: "settings", as: DataObject.self)
        else { return nil }
        return (settings, copy.get(key: "etag"))
    }

    /// Replaces the copy whole. One that cannot be written is no fault: it is only needed when the server is away at a start.
    func write(_ settings: DataObject, tag: String?, url: String) {
        var copy: DataObject = ["url": .string(url), "settings": .object(settings)]
        if let tag { copy["etag"] = .string(tag) }
        var json = JSONWriter()
        json.object(copy)
        let fresh = "\(path).new"
        let file = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { return }
        let isWritten = Glibc.write(file, json.bytes, json.bytes.count) == json.bytes.count && fsync(file) == 0
        Glibc.close(file)
        if isWritten { rename(fresh, path) } else { unlink(fresh) }
    }
}
