import Foundation

/// Files of `Docs`.
enum Documentation {
    static func text(_ name: String, from testFile: String = #filePath) throws -> String {
        let root = URL(fileURLWithPath: testFile).pathComponents.reversed().drop { $0 != "Tests" }.dropFirst()
        let path = root.reversed().joined(separator: "/").dropFirst() + "/Docs/" + name
        return try String(contentsOfFile: String(path), encoding: .utf8)
    }

    /// The fenced blocks of one language, without their fences.
    static func blocks(_ language: String, in document: String) -> [String] {
        var blocks: [String] = []
        var open: [Substring]?
        for line in document.split(separator: "\n", omittingEmptySubsequences: false) {
            if line == "```\(language)" {
                open = []
            } else if line == "```", let lines = open {
                blocks.append(lines.joined(separator: "\n"))
                open = nil
            } else {
                open?.append(line)
            }
        }
        return blocks
    }
}
