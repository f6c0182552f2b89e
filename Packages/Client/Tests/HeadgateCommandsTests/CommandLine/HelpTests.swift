import Foundation
import Testing

@testable import HeadgateCommands

@Suite struct HelpTests {
    @Test(
        "The tool's help shows every command, and each command's help every option",
        arguments: CommandTable.all.map(\.name))
    func complete(name: String) throws {
        let command = try #require(CommandTable.command(name))
        #expect(try Help.text(about: "").contains("  \(name) "))
        let text = try Help.text(about: name)
        #expect(text.hasPrefix("usage: headgate \(name)"))
        #expect(text.contains(command.summary))
        for option in command.options + Option.everywhere { #expect(text.contains("  \(option.usage) ")) }
    }

    @Test("Help about the first word of commands shows all of them; help about an unknown word is refused")
    func topics() throws {
        #expect(try Help.text(about: "config").contains("config get"))
        #expect(throws: UsageError(message: "there is no command sned; did you mean send?")) {
            try Help.text(about: "sned")
        }
    }

    @Test("No line of help is wider than a usual terminal's 120 columns")
    func width() throws {
        for topic in CommandTable.all.map(\.name) + [""] {
            for line in try Help.text(about: topic).split(separator: "\n") { #expect(line.count <= 120) }
        }
    }
}

/// Tests the manual page headgate(1).
@Suite struct ManualPageTests {
    @Test("Docs/Manual/headgate.1 equals the page made from the commands' help")
    func written() throws {
        let path = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../../../Docs/Manual/headgate.1").standardized.path
        let isWritten = try String(contentsOfFile: path, encoding: .utf8) == ManualPage.text
        #expect(isWritten, "Tools/manuals writes it anew")
    }

    @Test("The manual page has every command and every option")
    func complete() {
        for command in CommandTable.all {
            #expect(ManualPage.text.contains(".SS \(command.name.split(separator: "-").joined(separator: "\\-"))"))
        }
    }

    @Test("No part of a help text is read as a request of troff")
    func escaped() {
        let requests: Set<Substring> = ["TH", "SH", "SS", "PP", "TP", "B", "I", "IR", "BR"]
        for line in ManualPage.text.split(separator: "\n") where line.hasPrefix(".") && !line.hasPrefix(".\\\"") {
            #expect(requests.contains(line.dropFirst().prefix { $0 != " " }))
        }
    }
}
