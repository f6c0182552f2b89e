import Foundation
import Testing

@testable import HeadgateCommands

/// The manual page headgate(1).
@Suite struct ManualPageTests {
    @Test("Docs/Manual/headgate.1 is what the commands say of themselves")
    func written() throws {
        let path = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../../../Docs/Manual/headgate.1").standardized.path
        let isWritten = try String(contentsOfFile: path, encoding: .utf8) == ManualPage.text
        #expect(isWritten, "Tools/manuals writes it anew")
    }

    @Test("It has every command and every option")
    func complete() {
        for command in CommandTable.all {
            #expect(ManualPage.text.contains(".SS \(command.name.split(separator: "-").joined(separator: "\\-"))"))
        }
    }

    @Test("Nothing in a help text is taken for a request of troff")
    func escaped() {
        let requests: Set<Substring> = ["TH", "SH", "SS", "PP", "TP", "B", "I", "IR", "BR"]
        for line in ManualPage.text.split(separator: "\n") where line.hasPrefix(".") && !line.hasPrefix(".\\\"") {
            #expect(requests.contains(line.dropFirst().prefix { $0 != " " }))
        }
    }
}
