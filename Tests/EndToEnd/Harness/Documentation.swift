import Foundation

/// Files in `Docs`.
enum Documentation {
    static func text(_ name: String, from testFile: String = #filePath) throws -> String {
        let root = URL(fileURLWithPath: testFile).pathComponents.reversed().drop { $0 != "Tests" }.dropFirst()
        let path = root.reversed().joined(separator: "/").dropFirst() + "/Docs/" + name
        return try String(contentsOfFile: String(path), encoding: .utf8)
    }

    /// Returns the fenced code blocks of one language, without their fences.
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

/// Checked examples in `Docs`. Each has a comment `<!-- checked: NAME -->` before it.
enum DocumentedExample {
    /// Returns the JSON block after the comment.
    static func configuration(_ name: String, in file: String) throws -> String {
        let root = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        let text = try String(contentsOfFile: "/\(root)/Docs/\(file)", encoding: .utf8)
        guard let mark = text.range(of: "<!-- checked: \(name) -->"),
            let start = text.range(of: "```json\n", range: mark.upperBound..<text.endIndex),
            let end = text.range(of: "\n```", range: start.upperBound..<text.endIndex)
        else { throw NeverHappened("the example \(name) in \(file)") }
        return String(text[start.upperBound..<end.lowerBound])
    }
}

/// Files in `Tests/Fixtures`.
enum Fixture {
    /// Returns the JSON of a fixture.
    static func json(_ name: String, from testFile: String = #filePath) throws -> JSON {
        let tests = URL(fileURLWithPath: testFile).pathComponents.reversed().drop { $0 != "EndToEnd" }.dropFirst()
        let path = tests.reversed().joined(separator: "/").dropFirst() + "/Fixtures/" + name
        return try JSON(parsing: String(contentsOfFile: String(path), encoding: .utf8))
    }
}
