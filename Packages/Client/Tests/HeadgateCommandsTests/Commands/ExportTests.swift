import HeadgateClientTesting
import HeadgateData
import HeadgateText
import Testing

@testable import HeadgateCommands

/// Tests `headgate export`.
@Suite(.timeLimit(.minutes(5))) struct ExportTests {
    @Test("Pending events are written page after page, then dead letters with their reasons")
    func pages() async throws {
        let pages = [
            #"{"events":[{"id":"a","n":1.10}],"next":7}"#, #"{"events":[{"id":"b"}],"next":null}"#,
            #"{"dead_letters":[{"letter":3,"reason":"refused","event":{"id":"c"}}],"next":3}"#,
            #"{"dead_letters":[{"letter":4,"event":null}],"next":null}"#,
        ]
        let script: ScriptedDaemon.Script = { request in
            .write(#"{"jsonrpc":"2.0","id":\#(request.number),"result":\#(pages[request.number - 1])}"#)
        }
        try await withDaemon(script: script) { daemon in
            let run = try await ToolRun.run(["export", "collect", "--format", "ndjson"], on: daemon)
            #expect(run.exitCode == .success, "\(run.errors)")
            let lines = [
                #"{"id":"a","n":1.10}"#, #"{"id":"b"}"#, #"{"id":"c","dead_letter":{"letter":3,"reason":"refused"}}"#,
                #"{"dead_letter":{"letter":4}}"#,
            ]
            #expect(run.output == lines.map { $0 + "\n" }.joined())
            let requested = await daemon.record.requests
            #expect(requested.map(\.method) == ["queue.peek", "queue.peek", "dead_letters.list", "dead_letters.list"])
            #expect(requested.map { $0.params.get(key: "after", as: Int.self) } == [0, 7, 0, 3])
            #expect(requested.allSatisfy { $0.params.get(key: "dispatcher") == "collect" })
        }
    }

    @Test("--since skips events received before")
    func since() async throws {
        try await withDaemon { daemon in
            let times = ["09:59:59.999", "10:00:00.000", "10:00:00.001"]
            let events = times.map { DataItem.object(["received_at": .string("2026-03-01T\($0)Z")]) }
            await daemon.answer("queue.peek", with: ["events": .array(events), "next": nil])
            await daemon.answer("dead_letters.list", with: ["dead_letters": [], "next": nil])
            let time = "2026-03-01T11:00:00+01:00"
            let run = try await ToolRun.run(["export", "collect", "--since", time], on: daemon)
            #expect(run.exitCode == .success, "\(run.errors)")
            #expect(run.output.split(separator: "\n").count == 2)
            #expect(!run.output.contains("09:59"))
        }
    }

    @Test("--since takes a duration back from now")
    func ago() async throws {
        try await withDaemon { daemon in
            let moments = [10_800, 3_600].map { WallClock.local.now.milliseconds - $0 * 1_000 }
            let texts = moments.map { Timestamp(milliseconds: $0).text }
            let events = texts.map { DataItem.object(["received_at": .string($0)]) }
            await daemon.answer("queue.peek", with: ["events": .array(events), "next": nil])
            await daemon.answer("dead_letters.list", with: ["dead_letters": [], "next": nil])
            let run = try await ToolRun.run(["export", "collect", "--since", "2h"], on: daemon)
            #expect(run.output == #"{"received_at":"\#(texts[1])"}"# + "\n", "\(run.errors)")
        }
    }

    @Test(
        "A bad format or time is reported", arguments: [["--format", "csv"], ["--since", "yesterday"]])
    func usage(words: [String]) async throws {
        try await withDaemon { daemon in
            let run = try await ToolRun.run(["export", "collect"] + words, on: daemon)
            #expect(run.exitCode == .usage)
            #expect(run.errors.contains(words[1]))
        }
    }
}
