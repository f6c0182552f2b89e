import HeadgateCore
import HeadgateData

/// Dispatchers that write to a file (Behaviour K2).
struct FileKind: DispatcherKind {
    let name = "file"

    func read(_ entry: SettingsReader, common: inout DispatcherSettings) -> FileSettings {
        entry.require("path")
        var settings = FileSettings(path: entry.filePath("path") ?? "")
        if settings.path.hasSuffix("/") { entry.fault("path", "", "must be a file, not a directory") }
        if settings.isOfStore { entry.fault("path", "", "is a name that the store uses in the data directory") }
        if !settings.path.isEmpty, !settings.isDevice {
            // Two that write one file would rotate it away under each other.
            entry.claim("path", "file", settings.plainPath, for: "dispatcher `\(common.id)`")
        }
        settings.rotateBytes = entry.integer("rotate_bytes", in: 1...SettingsReader.most)
        settings.rotateAge = entry.seconds("rotate_s")
        entry.integer("keep", in: 0...1_000_000, into: &settings.keep)
        return settings
    }

    func reachesNetwork(_ settings: FileSettings) -> Bool { false }

    func makeSender(
        of dispatcher: String, _ settings: FileSettings, in surroundings: SenderSurroundings
    ) throws -> any Sender {
        var settings = settings
        if !settings.path.hasPrefix("/") { settings.path = "\(surroundings.dataDirectory)/\(settings.path)" }
        return try FileSender(settings, loop: surroundings.requireLoop())
    }
}

/// What a dispatcher of kind `file` can be told beyond what all can.
struct FileSettings: Sendable, Equatable {
    /// The file; a relative path is relative to the data directory.
    var path: String
    /// The size that makes the file be rotated; nil: never.
    var rotateBytes: Int?
    /// The age that makes the file be rotated; nil: never.
    var rotateAge: Duration?
    /// How many rotated files stay besides the current one.
    var keep = 5

    /// The path without steps that lead nowhere, so that the same path written otherwise is found.
    fileprivate var plainPath: String {
        let steps = path.split(separator: "/").filter { $0 != "." }.joined(separator: "/")
        return path.hasPrefix("/") ? "/" + steps : steps
    }

    /// Whether it is where the store has its database, with all that SQLite puts beside it, or its lock.
    fileprivate var isOfStore: Bool {
        plainPath.hasPrefix("events.db") || plainPath == "headgate.lock"
    }

    /// Whether it is something like `/dev/null`, which may be shared.
    fileprivate var isDevice: Bool { plainPath.hasPrefix("/dev/") }
}
