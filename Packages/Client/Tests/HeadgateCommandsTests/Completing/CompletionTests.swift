import Foundation
import Testing

@testable import HeadgateCommands

/// The scripts that teach shells what may follow `headgate`, each tried in its shell.
@Suite struct CompletionTests {
    @Test(
        "bash offers commands, their second words, options, and what operands may be",
        arguments: [
            ("headgate sta", ["status"]),
            ("headgate config ", ["get", "set", "reload", "check"]),
            ("headgate config get --la", ["--layer"]),
            ("headgate config get --layer ", ["file", "remote", "programmatic"]),
            ("headgate --socket /tmp/s watch dis", ["dispatchers"]),
            ("headgate watch --", ["--json", "--socket", "--help"]),
            ("headgate pause ", ["collect", "archive"]),
            ("headgate pause --reason why co", ["collect"]),
            ("headgate completions z", ["zsh"]),
            ("headgate --", ["--socket", "--help", "--version"]),
            ("headgate status x", []),
        ] as [(String, [String])])
    func bash(line: String, offered: [String]) throws {
        let words = line.split(separator: " ", omittingEmptySubsequences: false).map { "'\($0)'" }
        let script = """
            \(BashCompletions.script)
            headgate() { printf '{"dispatchers":[{"id":"collect","kind":"http"},{"id":"archive","kind":"file"}]}\\n'; }
            COMP_WORDS=(\(words.joined(separator: " ")))
            COMP_CWORD=\(words.count - 1)
            _headgate
            printf '%s\\n' "${COMPREPLY[@]}"
            """
        let output = try run("/bin/bash", ["-euc", script])
        #expect(output.split(separator: "\n").map(String.init) == offered)
    }

    @Test("Every command, and every option of each, is in each shell's script", arguments: Shell.allCases)
    func complete(shell: Shell) {
        let script = shell.completions
        for command in CommandTable.all {
            for word in command.name.split(separator: " ") { #expect(script.contains(word)) }
            for option in command.options {
                #expect(script.contains(shell == .fish ? "-l \(option.name.dropFirst(2))" : option.name))
            }
        }
    }

    @Test(
        "The scripts are well-formed, where their shells are",
        arguments: [("zsh", "/usr/bin/zsh"), ("fish", "/usr/bin/fish")])
    func wellFormed(name: String, path: String) throws {
        guard FileManager.default.isExecutableFile(atPath: path) else { return }
        let shell = try #require(Shell(rawValue: name))
        let file = FileManager.default.temporaryDirectory.appending(path: "headgate-\(UUID()).\(name)")
        try shell.completions.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try run(path, ["-n", file.path]) == "")
    }

    @Test("A shell that there is nothing for is wrong usage")
    func unknown() throws {
        #expect(throws: UsageError.self) {
            guard case .run(let command, let arguments) = try CommandLineParser.parse(["completions", "zhs"]) else {
                return
            }
            let terminal = Terminal(
                input: -1, showsProgress: false, style: Fixed.style, output: { _ in }, errors: { _ in })
            _ = try command.run(Invocation(arguments: arguments, terminal: terminal))
        }
    }

    /// What the program says, on either stream.
    private func run(_ path: String, _ arguments: [String]) throws -> String {
        let quoted = arguments.map { "'\($0.replacing("'", with: #"'\''"#))'" }
        let stream = try #require(popen("\(path) \(quoted.joined(separator: " ")) 2>&1", "r"))
        defer { pclose(stream) }
        let said = FileHandle(fileDescriptor: fileno(stream), closeOnDealloc: false).readDataToEndOfFile()
        return String(decoding: said, as: UTF8.self)
    }
}
