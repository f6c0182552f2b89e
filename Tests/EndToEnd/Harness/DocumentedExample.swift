import Foundation

/// Examples in `Docs`, which have to work. A comment `<!-- checked: NAME -->` stands before each.
enum DocumentedExample {
    /// The JSON block behind the comment.
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
