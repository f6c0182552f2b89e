import Foundation

/// A folder of a test's own, with a path short enough for Unix sockets (107 bytes).
struct TemporaryDirectory {
    let path: String

    init() throws {
        let usual = FileManager.default.temporaryDirectory.path
        let parent = usual.utf8.count > 60 ? "/tmp" : usual
        var template = Array("\(parent)/hg-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemError("mkdtemp in \(parent)") }
        path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// A path inside.
    func path(_ name: String) -> String { path + "/" + name }

    /// Writes a file inside and gives back its path.
    @discardableResult
    func write(_ text: String, to name: String) throws -> String {
        try text.write(toFile: path(name), atomically: true, encoding: .utf8)
        return path(name)
    }

    func remove() {
        try? FileManager.default.removeItem(atPath: path)
    }
}
