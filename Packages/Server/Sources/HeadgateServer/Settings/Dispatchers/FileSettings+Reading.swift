import HeadgateData

extension FileSettings {
    /// Reads what a dispatcher of kind `file` has of its own.
    init(_ reader: SettingsReader) {
        reader.require("path")
        self.init(path: reader.filePath("path") ?? "")
        if path.hasSuffix("/") { reader.fault("path", "", "must be a file, not a directory") }
        if isOfStore { reader.fault("path", "", "is a name that the store uses in the data directory") }
        rotateBytes = reader.integer("rotate_bytes", in: 1...SettingsReader.most)
        rotateAge = reader.seconds("rotate_s")
        reader.integer("keep", in: 0...1_000_000, into: &keep)
    }

    /// The path without steps that lead nowhere, so that the same path written otherwise is found.
    var plainPath: String {
        let steps = path.split(separator: "/").filter { $0 != "." }.joined(separator: "/")
        return path.hasPrefix("/") ? "/" + steps : steps
    }
}

extension Settings {
    /// Refuses two dispatchers that would write, and rotate, one file.
    func refuseSharedFiles(_ reader: SettingsReader) {
        var owners: [String: String] = [:]
        for dispatcher in dispatchers {
            guard case .file(let file) = dispatcher.kind, !file.path.isEmpty, !file.isDevice else { continue }
            if let owner = owners.updateValue(dispatcher.id, forKey: file.plainPath) {
                reader.fault("dispatchers", ".\(dispatcher.id).path", "is the file of dispatcher `\(owner)`")
            }
        }
    }
}

extension FileSettings {
    /// Whether it is where the store has its database, with all that SQLite puts beside it, or its lock.
    fileprivate var isOfStore: Bool {
        plainPath.hasPrefix("events.db") || plainPath == "headgate.lock"
    }

    /// Whether it is something like `/dev/null`, which may be shared.
    fileprivate var isDevice: Bool { plainPath.hasPrefix("/dev/") }
}
