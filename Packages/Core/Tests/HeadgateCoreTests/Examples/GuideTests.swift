import Foundation
import Testing

/// Compares the code in `Docs/Barriers.md` with the code that is compiled and tested here.
@Suite("Guide to barriers")
struct GuideTests {
    private let examples = URL(fileURLWithPath: #filePath).deletingLastPathComponent()

    private var root: URL { (0..<5).reduce(examples) { folder, _ in folder.deletingLastPathComponent() } }

    private var guide: String {
        get throws {
            try String(contentsOf: root.appendingPathComponent("Docs/Barriers.md"), encoding: .utf8)
        }
    }

    /// The text of each Swift code block in the guide.
    private func blocks() throws -> [String] {
        try guide.components(separatedBy: "```swift\n").dropFirst().map { part in
            try #require(part.components(separatedBy: "\n```").first)
        }
    }

    /// Returns the lines of a text without their common indentation.
    private func outdented(_ text: String) -> String {
        let lines = text.components(separatedBy: "\n")
        let depths = lines.filter { !$0.isEmpty }.map { $0.prefix { $0 == " " }.count }
        return lines.map { String($0.dropFirst(depths.min() ?? 0)) }.joined(separator: "\n")
    }

    @Test("Every Swift block in the guide is part of the examples, word for word")
    func blocksAreCompiled() throws {
        let others = ["Packages/Server/Tests/HeadgateServerTests/Examples", "Docs/Examples/SwiftClient"]
        let folders = [examples] + others.map { root.appendingPathComponent($0) }
        let files = try folders.flatMap {
            try FileManager.default.contentsOfDirectory(at: $0, includingPropertiesForKeys: nil)
        }
        let sources = try files.filter { $0.pathExtension == "swift" }
            .map { try String(contentsOf: $0, encoding: .utf8) }
        let blocks = try blocks()
        #expect(blocks.count >= 12)
        for block in blocks {
            let isFound = sources.contains { source in contains(source, block) }
            #expect(isFound, "\(block)")
        }
    }

    /// True if `source` contains the lines of `block` in order, at any indentation.
    private func contains(_ source: String, _ block: String) -> Bool {
        let lines = source.components(separatedBy: "\n")
        let expected = block.components(separatedBy: "\n").count
        guard lines.count >= expected else { return false }
        return (0...(lines.count - expected)).contains { start in
            outdented(lines[start..<start + expected].joined(separator: "\n")) == block
        }
    }
}
