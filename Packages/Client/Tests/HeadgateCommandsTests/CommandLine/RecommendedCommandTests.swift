import Foundation
import HeadgateClient
import Testing

@testable import HeadgateCommands

/// Tests that every command that messages, comments and documents recommend exists.
@Suite struct RecommendedCommandTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../../..").standardized.path

    /// Returns the texts that may recommend commands, with their paths.
    private static func texts() throws -> [(path: String, text: String)] {
        let folders = ["Packages", "Docs", "Tools/headgated"]
        let files = try folders.flatMap { folder in
            try FileManager.default.subpathsOfDirectory(atPath: "\(root)/\(folder)").map { "\(folder)/\($0)" }
        }
        let expected = files.filter { path in
            let isText = [".swift", ".md", ".yml", ".sh", ".py", ".go", ".mjs", ".php", ".h"].contains {
                path.hasSuffix($0)
            }
            return isText && !["/.build/", "/Tests/", "/node_modules/"].contains { path.contains($0) }
        }
        return try (["README.md"] + expected).map { ($0, try String(contentsOfFile: "\(root)/\($0)", encoding: .utf8)) }
    }

    /// Returns the commands of a text: in backquotes, after the prompt of an example, and in lines of a shell's
    /// example.
    static func commands(in text: String) -> [String] {
        let quoted = text.matches(of: /`headgate ([^`]+)`/).map { String($0.1) }
        let prompted = text.matches(of: /\$ headgate (.+)/).map { String($0.1) }
        let lines = text.matches(of: /\n(?:[ ]{8,})?headgate ([a-z][^\n`]+)/).map { String($0.1) }
        return quoted + prompted + lines
    }

    /// Returns the words of a command up to the shell's own syntax, or nil for a pattern that is no complete command.
    static func words(of command: String) -> [String]? {
        var words: [String] = []
        var word = ""
        var quote: Character?
        // Interpolated values become `x`, because any value is fine.
        let filled = command.replacing(/\\\((?:[^()]|\([^()]*\))*\)/, with: "x").replacing(/\{\{[^}]*\}\}/, with: "x")
        for character in filled + " " {
            if let open = quote {
                if character == open { quote = nil } else { word.append(character) }
            } else if character == "'" || character == "\"" {
                quote = character
            } else if "|;&<>#)".contains(character) {
                break
            } else if character == " " || character == "\n" {
                if !word.isEmpty { words.append(word) }
                word = ""
            } else {
                word.append(character)
            }
        }
        if !word.isEmpty { words.append(word) }
        // Left out: synopses, placeholders for any command, and the output of `headgate --version`.
        let first = words.first?.first
        let isPattern =
            words.contains { $0.contains("[") || $0.contains("…") } || first?.isUppercase == true
            || first?.isNumber == true
        return words.isEmpty || isPattern ? nil : words
    }

    @Test("A command is found in quotes and examples, with the words that it has")
    func found() {
        #expect(Self.commands(in: "do `headgate status` or\n$ headgate peek a | jq\n") == ["status", "peek a | jq"])
        #expect(Self.words(of: "peek a --limit 3 | jq") == ["peek", "a", "--limit", "3"])
        #expect(Self.words(of: #"resume \(ids.first ?? "ID")"#) == ["resume", "x"])
        #expect(Self.words(of: "COMMAND --help") == nil && Self.words(of: "send EVENT [k=v …]") == nil)
    }

    @Test("Every command that a message or a page recommends exists, with its options and topics")
    func exist() throws {
        var count = 0
        for (path, text) in try Self.texts() {
            for command in Self.commands(in: text) {
                guard let words = Self.words(of: command) else { continue }
                count += 1
                #expect(throws: Never.self, "\(path): headgate \(command)") { try Self.check(words) }
            }
        }
        #expect(count > 100)
    }

    /// Checks a command, which may lack its operands.
    private static func check(_ words: [String]) throws {
        let request: CommandLineRequest
        do throws(UsageError) {
            request = try CommandLineParser.parse(words)
        } catch {
            guard error.message.hasSuffix(" is missing") || error.message.contains(" is missing: ") else { throw error }
            return
        }
        guard case .run(let command, let arguments) = request, command.name == "watch" else { return }
        for topic in arguments.operands { _ = try #require(WatchTopic(rawValue: topic), "no topic \(topic)") }
    }
}
