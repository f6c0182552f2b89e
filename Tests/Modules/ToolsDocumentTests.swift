import Foundation
import Testing

/// Compares `Tools/README.md` with the folder that it describes.
@Suite("Tools/README.md")
struct ToolsDocumentTests {
    private static let folder = (0..<3).reduce(URL(fileURLWithPath: #filePath)) { url, _ in
        url.deletingLastPathComponent()
    }.appending(path: "Tools")

    @Test("Each script is in the document")
    func complete() throws {
        let text = try String(contentsOf: Self.folder.appending(path: "README.md"), encoding: .utf8)
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
        let scripts = names.filter { FileManager.default.isExecutableFile(atPath: Self.folder.path + "/" + $0) }
        #expect(scripts.count > 10)
        #expect(scripts.filter { !text.contains("`\($0)`") } == [])
    }
}
