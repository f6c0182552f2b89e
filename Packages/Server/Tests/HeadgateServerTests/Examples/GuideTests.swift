import Foundation
import Testing

/// Compares the guides for embedding programs with the code that is compiled and run here.
@Suite("Guides for programs")
struct GuideTests {
    private static let examples = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    private static let root = (0..<5).reduce(examples) { folder, _ in folder.deletingLastPathComponent() }

    @Test(
        "Every block of Swift code in a guide is in the examples, line for line",
        arguments: ["Boards.md", "Sending.md"])
    func blocksAreCompiled(guide: String) throws {
        let text = try String(contentsOf: Self.root.appendingPathComponent("Docs/\(guide)"), encoding: .utf8)
        let blocks = text.components(separatedBy: "```swift\n").dropFirst().compactMap {
            $0.components(separatedBy: "\n```").first
        }
        #expect(blocks.count >= 3)
        let files = try FileManager.default.contentsOfDirectory(at: Self.examples, includingPropertiesForKeys: nil)
        let sources = try files.filter { $0.pathExtension == "swift" }
            .map { lines(try String(contentsOf: $0, encoding: .utf8)) }
        for block in blocks {
            let expected = lines(block)
            #expect(sources.contains { $0.contains(expected) }, "\(block)")
        }
    }

    /// Returns the text's lines without indentation.
    private func lines(_ text: String) -> [Substring] {
        text.split(separator: "\n").map { $0.drop { $0 == " " } }
    }
}
