import HeadgateCore
import HeadgateData

/// The kind of dispatchers that write to a file (Behaviour K2).
struct FileKind: DispatcherKind {
    let name = "file"

    func read(_ entry: SettingsReader, common: inout DispatcherSettings) -> FileSettings {
        entry.require("path")
        var settings = FileSettings(path: entry.filePath("path") ?? "")
        settings.rotateBytes = entry.integer("rotate_bytes", in: 1...SettingsReader.most)
        settings.rotateAge = entry.seconds("rotate_s")
        entry.integer("keep", in: 0...1_000_000, into: &settings.keep)
        if !settings.path.isEmpty { settings.checkPath(entry, dispatcher: common.id) }
        return settings
    }

    func reachesNetwork(_ settings: FileSettings) -> Bool { false }

    func makeSender(
        of dispatcher: String, _ settings: FileSettings, in context: SenderContext
    ) throws -> any Sender {
        var settings = settings
        if !settings.path.hasPrefix("/") { settings.path = "\(context.dataDirectory)/\(settings.path)" }
        return try FileSender(settings, loop: context.requireLoop(), threads: context.fileThreads)
    }
}
