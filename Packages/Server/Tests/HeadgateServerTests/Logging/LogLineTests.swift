import Foundation
import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("Log lines") struct LogLineTests {
    private let died = LogLine(
        .eventsDeadLettered,
        ["dispatcher": "collect", "events": 1, "reason": "refused_status", "cause": "HTTP 400\nforged", "id": "e1"])

    @Test("O4: as text a line has its level in words, and its content cannot imitate another line")
    func text() {
        #expect(
            LogOutput.rendered(died, as: .text, at: Timestamp(milliseconds: 0))
                == "headgated: warning: dispatcher collect dead-lettered 1 event (refused_status): HTTP 400 forged; the first is e1"
        )
        let notice = LogLine(.settingsRead, ["changed": "nothing"])
        #expect(
            LogOutput.rendered(notice, as: .text, at: Timestamp(milliseconds: 0))
                == "headgated: the settings were read again; changed: nothing")
    }

    @Test("O4: characters that control a terminal are escaped in both formats")
    func escaped() throws {
        let line = LogLine(
            .eventsDeadLettered,
            ["dispatcher": "d", "events": 1, "reason": "r", "cause": "c", "id": "a\u{202E}\u{9B}m"])
        let time = Timestamp(milliseconds: 0)
        #expect(LogOutput.rendered(line, as: .text, at: time).hasSuffix(#"a\u{202e}\u{9b}m"#))
        let json = LogOutput.rendered(line, as: .json, at: time)
        #expect(json.contains(#"a\u202e\u009bm"#))
        let object = try #require(DataItem(parsing: Array(json.utf8)).get(as: DataObject.self))
        #expect(object.get(key: "id", as: String.self) == "a\u{202E}\u{9B}m")
    }

    @Test("O4: as JSON a line is an object with time, level, message, kind and details")
    func json() throws {
        var line = died
        line.merge(died)
        line.span = .seconds(10)
        let text = LogOutput.rendered(line, as: .json, at: Timestamp(milliseconds: 1_800_014_400_123))
        #expect(!text.contains("\n"))
        #expect(
            try DataItem(parsing: Array(text.utf8)) == [
                "time": "2027-01-15T12:00:00.123Z", "level": "warning",
                "message":
                    "dispatcher collect dead-lettered 2 events (refused_status): HTTP 400\nforged; the first is e1 (2 times in 10 s)",
                "kind": "events_died", "dispatcher": "collect", "events": 2, "reason": "refused_status",
                "cause": "HTTP 400\nforged", "id": "e1", "times": 2,
            ])
    }

    @Test("O4: Docs/Operations.md has a row for each line at warning and above, and no other")
    func page() {
        let page = try? String(
            contentsOfFile: URL(filePath: #filePath).deletingLastPathComponent()
                .appending(path: "../../../../../Docs/Operations.md").standardized.path, encoding: .utf8)
        let rows = (page ?? "").split(separator: "\n").map { $0.components(separatedBy: " | ") }
            .filter { $0.count == 4 && ($0[1] == "warning" || $0[1] == "error") }
        let reported = rows.map { "\($0[0])| \($0[1]) | \($0[2])" }
        let grave = LogKind.allCases.filter { $0.level == .warning || $0.level == .error }
        #expect(reported == grave.map { "| `\($0.rawValue)`| \($0.level.rawValue) | \($0.pattern)" })
        #expect(rows.allSatisfy { $0[3].count > 20 })
    }
}
