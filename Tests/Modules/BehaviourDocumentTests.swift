import Foundation
import Testing

/// Compares `Docs/Behaviour.md` with the code that cites its rules and the tests that name them.
@Suite("Docs/Behaviour.md")
struct BehaviourDocumentTests {
    private static let root = (0..<3).reduce(URL(fileURLWithPath: #filePath)) { url, _ in
        url.deletingLastPathComponent()
    }

    @Test("Each rule is in the document once, in order")
    func order() throws {
        let rules = try Self.rules()
        #expect(rules.count > 75 && Set(rules).count == rules.count)
        for (rule, next) in zip(rules, rules.dropFirst()) where rule.first == next.first {
            let numbers = [rule, next].compactMap { Int($0.dropFirst()) }
            #expect(numbers.count == 2 && numbers[0] < numbers[1], "\(rule) is before \(next)")
        }
    }

    @Test("Each rule cited by code and documents is in the document")
    func cited() throws {
        let known = Set(try Self.rules())
        var cited: Set<String> = []
        for folder in ["Packages", "Tools", "Tests", "Docs"] {
            for text in try Self.texts(in: folder, [".swift", ".md", ".c", ".h", ".py", ".cpp"]) {
                cited.formUnion(text.matches(of: Self.citation).flatMap { Rules.all(in: $0.1) })
            }
        }
        #expect(cited.count > 60)
        #expect(cited.subtracting(known).sorted() == [])
    }

    @Test("Each rule in the document is named in the title of a test")
    func tested() throws {
        var named: Set<String> = []
        for folder in ["Packages", "Tests"] {
            for text in try Self.texts(in: folder, ["Tests.swift"]) {
                for title in text.matches(of: Self.title) { named.formUnion(Rules.all(in: title.1)) }
            }
        }
        let missing = Set(try Self.rules()).subtracting(named)
        #expect(missing.sorted() == [])
    }

    @Test(
        "Rules are found in lists and ranges",
        arguments: [
            ("B12", ["B12"]), ("B1, B2 and F1", ["B1", "B2", "F1"]), ("A2–A4", ["A2", "A3", "A4"]),
            ("D3 to D5", ["D3", "D4", "D5"]),
            ("Q7-8", ["Q7", "Q8"]), ("HTTP2 P", []),
        ])
    func reading(text: String, rules: [String]) {
        #expect(Rules.all(in: text[...]) == rules)
    }

    // MARK: Files

    /// Returns the rules that the document lists as implemented, in order.
    private static func rules() throws -> [String] {
        let text = try String(contentsOf: root.appendingPathComponent("Docs/Behaviour.md"), encoding: .utf8)
        let kept = try #require(text.components(separatedBy: "\n## Not there yet").first)
        return kept.matches(of: #/(?m)^- \*\*([A-Z]\d+)\*\* /#).map { String($0.1) }
    }

    private static func texts(in folder: String, _ endings: [String]) throws -> [String] {
        let directory = root.appendingPathComponent(folder)
        let names = FileManager.default.enumerator(atPath: directory.path)?.compactMap { $0 as? String } ?? []
        return try names.filter { name in !name.contains(".build") && endings.contains { name.hasSuffix($0) } }.map {
            try String(contentsOf: directory.appendingPathComponent($0), encoding: .utf8)
        }
    }

    private static var citation: Regex<(Substring, Substring)> {
        #/Behaviour ((?:[A-Z]\d+(?:, | and | to |–|-)?)+)/#
    }

    /// Matches the title of a test or a suite, on the same line or the next.
    private static var title: Regex<(Substring, Substring)> {
        #/@(?:Test|Suite)\(\s*"((?:[^"\\]|\\.)*)"/#
    }
}

/// Finds the names of rules in a text.
private enum Rules {
    private static var name: Regex<(Substring, Substring, Substring, Substring?)> {
        #/\b([A-Z])(\d+)(?:(?:–|-| to )[A-Z]?(\d+))?\b/#.wordBoundaryKind(.simple)
    }

    static func all(in text: Substring) -> [String] {
        text.matches(of: name).flatMap { found -> [String] in
            guard let first = Int(found.2), let last = found.3.map({ Int($0) }) ?? first, first <= last else {
                return []
            }
            return (first...last).map { "\(found.1)\($0)" }
        }
    }
}
