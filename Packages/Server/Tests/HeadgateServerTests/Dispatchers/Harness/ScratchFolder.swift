import Foundation

/// A folder of a test's own, which goes with it.
final class ScratchFolder: Sendable {
    let path: String

    init() throws {
        var template = Array("\(NSTemporaryDirectory())/senders-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw TestSocket.Failure(operation: "mkdtemp") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// A path inside.
    func callAsFunction(_ name: String) -> String { "\(path)/\(name)" }

    /// Writes a file inside and gives back its path.
    @discardableResult
    func write(_ text: String, to name: String) throws -> String {
        try Data(text.utf8).write(to: URL(fileURLWithPath: self(name)))
        return self(name)
    }

    /// A file's text; nil if there is no such file.
    func text(of name: String) -> String? {
        FileManager.default.contents(atPath: self(name)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// A file's length in bytes.
    func size(of name: String) throws -> Int {
        var status = stat()
        guard stat(self(name), &status) == 0 else { throw TestSocket.Failure(operation: "stat") }
        return status.st_size
    }

    /// All names inside, sorted.
    var names: [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: path).sorted()) ?? []
    }
}
