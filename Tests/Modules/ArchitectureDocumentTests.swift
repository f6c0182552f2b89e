import Foundation
import Testing

/// Compares `Docs/Architecture.md` with the files that it mentions.
@Suite("Docs/Architecture.md")
struct ArchitectureDocumentTests {
    private static let root = (0..<3).reduce(URL(fileURLWithPath: #filePath)) { url, _ in
        url.deletingLastPathComponent()
    }

    @Test("Each file and folder named in the document exists")
    func paths() throws {
        let paths = try Self.text().matches(of: Self.path).map { (package: String($0.1), rest: String($0.2)) }
        #expect(paths.count > 20)
        #expect(paths.filter { !Self.isThere($0.package, $0.rest) }.map { "\($0.package)/\($0.rest)" } == [])
    }

    @Test("The document follows an event from the socket to its acknowledgement in at most twelve existing files")
    func tour() throws {
        let files = try Self.text().matches(of: Self.step).map { (package: String($0.1), rest: String($0.2)) }
        #expect((8...12).contains(files.count) && files.allSatisfy { Self.isThere($0.package, $0.rest) })
    }

    private static func text() throws -> String {
        try String(contentsOf: root.appending(path: "Docs/Architecture.md"), encoding: .utf8)
    }

    /// The document omits the common part of a path: `Server/Boards` is a folder in the main module of the package
    /// Server.
    private static func isThere(_ package: String, _ rest: String) -> Bool {
        let sources = root.appending(path: "Packages/\(package)/Sources")
        let folders = ["Headgate\(package)", ""].map { sources.appending(path: $0).appending(path: rest) }
        return folders.contains { path in
            [path.path, path.path + ".swift"].contains(where: FileManager.default.fileExists(atPath:))
        }
    }

    /// Matches a path such as `Server/Sessions/Session.swift` anywhere in the text.
    private static var path: Regex<(Substring, Substring, Substring)> {
        #/`(Core|Server|Transport|Client|Console)/([A-Za-z0-9+/.]+)`/#
    }

    /// Matches such a path at the beginning of a table row.
    private static var step: Regex<(Substring, Substring, Substring)> {
        #/\| `(Core|Server|Transport|Client)/([A-Za-z0-9+/.]+\.swift)` \|/#
    }
}
