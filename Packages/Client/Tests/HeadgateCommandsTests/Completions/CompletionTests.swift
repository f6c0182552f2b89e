import Foundation
import Testing

@testable import HeadgateCommands

/// Tests the completion scripts, each in its shell.
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
            ("headgate --socket = /dev/nul", ["/dev/null"]),
            ("headgate --socket =", nil),
            ("headgate --socket = /s sta", ["status"]),
            ("headgate --socket = /other pause ", ["other"]),
            ("headgate config get --layer = pro", ["programmatic"]),
            ("headgate send x --dispatcher = co", ["collect"]),
        ] as [(String, [String]?)])
    func bash(line: String, offered: [String]?) throws {
        // bash itself splits `--socket=/s` into three words.
        let words = line.split(separator: " ", omittingEmptySubsequences: false).map { "'\($0)'" }
        let script = """
            \(BashCompletions.script)
            headgate() {
                [[ ${2-} != /other ]] || { printf '{"dispatchers":[{"id":"other"}]}\\n'; return; }
                printf '{"dispatchers":[{"id":"collect","kind":"http"},{"id":"archive","kind":"file"}]}\\n'
            }
            COMP_WORDS=(\(words.joined(separator: " ")))
            COMP_CWORD=\(words.count - 1)
            _headgate
            printf '%s\\n' "${COMPREPLY[@]}"
            """
        let output = try run("/bin/bash", ["-euc", script])
        let found = output.split(separator: "\n").map(String.init)
        // Nil means any files, because the test may run in any folder.
        if let offered { #expect(found == offered) } else { #expect(!found.isEmpty) }
    }

    @Test(
        "fish offers the same, if it is installed", .enabled(if: isInstalled("fish"), "fish is not installed"),
        arguments: [
            ("headgate sta", ["status"]),
            ("headgate --socket /s sta", ["status"]),
            ("headgate config ", ["check", "get", "reload", "set"]),
            ("headgate config get --la", ["--layer"]),
            ("headgate config get --layer ", ["file", "programmatic", "remote"]),
            ("headgate watch dispatchers --", ["--help", "--json", "--socket"]),
            ("headgate pause ", ["archive", "collect"]),
            ("headgate --socket /other pause ", ["other"]),
            ("headgate pause --reason why co", ["collect"]),
            ("headgate completions z", ["zsh"]),
            ("headgate --", ["--help", "--socket", "--version"]),
            ("headgate status x", []),
        ] as [(String, [String])])
    func fish(line: String, offered: [String]) throws {
        let script = """
            \(FishCompletions.script)
            function headgate
                contains -- /other $argv; and set -l ids other; or set -l ids collect archive
                printf '{"id":"%s"}\\n' $ids
            end
            complete -C"\(line)" | string split -f 1 \\t | sort
            """
        let output = try run("/usr/bin/fish", ["--no-config", "-c", script])
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
        "The script is well-formed to zsh, where it is installed",
        .enabled(if: isInstalled("zsh"), "zsh is not installed"))
    func zsh() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "headgate-\(UUID()).zsh")
        try Shell.zsh.completions.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try run("/usr/bin/zsh", ["-n", file.path]) == "")
    }

    @Test("A shell without a completion script is wrong usage")
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

    private static func isInstalled(_ shell: String) -> Bool {
        FileManager.default.isExecutableFile(atPath: "/usr/bin/\(shell)")
    }

    /// Returns the output of a program, of both streams.
    private func run(_ path: String, _ arguments: [String]) throws -> String {
        let quoted = arguments.map { "'\($0.replacing("'", with: #"'\''"#))'" }
        let stream = try #require(popen("\(path) \(quoted.joined(separator: " ")) 2>&1", "r"))
        defer { pclose(stream) }
        let said = FileHandle(fileDescriptor: fileno(stream), closeOnDealloc: false).readDataToEndOfFile()
        return String(decoding: said, as: UTF8.self)
    }
}
