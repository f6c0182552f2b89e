import Testing

/// `headgate export`.
@Suite struct ExportTests {
    @Test("export writes the pending events in order, then the dead letters, and send --stdin imports them elsewhere")
    func exported() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(.status(400))
            let daemon = try await scene.daemon(sendingTo: collector)
            try await daemon.track(1...2)
            try await daemon.dispatcher(until: "one event is dead-lettered") { $0["dead"] == 1 && $0["sent"] == 1 }
            try await daemon.pause()
            let ids = (1...2_500).map { "l\($0)" }
            let lines = ids.map { #"{"event":"line","id":"\#($0)","data":{"n":1.10}}"# }.joined(separator: "\n")
            #expect(try await CommandLineTool.run("send", "--stdin", on: daemon, input: lines).exitCode == 0)

            let run = try await CommandLineTool.run("export", "collect", on: daemon)
            #expect(run.exitCode == 0, "\(run.errorOutput)")
            let events = try run.output.split(separator: "\n").map { try JSON(parsing: String($0)) }
            #expect(events.compactMap(\.["id"].string) == ids + ["e1"])
            #expect(events.last?["dead_letter"]["reason"] == "refused_status")
            #expect(run.output.contains(#""data":{"n":1.10}"#))
            #expect(try await daemon.dispatcher().contains(["pending": 2_500, "dead": 1]))

            let since = events[1_000]["received_at"].string ?? ""
            let later = try await CommandLineTool.run("export", "collect", "--since", since, on: daemon).output
            let first = try JSON(parsing: String(later.split(separator: "\n")[0]))
            #expect(first["received_at"].string == since)

            let other = try await scene.daemon(sendingTo: scene.collector())
            let again = try await CommandLineTool.run("send", "--stdin", on: other, input: run.output)
            #expect(again.exitCode == 0, "\(again.errorOutput)")
            try await other.dispatcher(until: "all events are delivered") { $0["sent"] == 2_501 }
        }
    }

    @Test("export exits with 1 if its reader closes early, and reads no further")
    func readerLeaves() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            try await daemon.pause()
            let lines = (1...5_000).map {
                #"{"event":"line","id":"l\#($0)","data":{"n":"0123456789012345678901234567890"}}"#
            }
            let input = lines.joined(separator: "\n")
            #expect(try await CommandLineTool.run("send", "--stdin", on: daemon, input: input).exitCode == 0)
            let tool = try BuiltProducts.path(of: "headgate")
            let script = "{ \(tool) export collect --socket \(daemon.socketPath); echo $? >code; } | head -n 1"
            let run = try await CommandLineTool.run(
                program: "/bin/sh", ["-c", "cd \(daemon.folder) && \(script)"], in: daemon.folder)
            #expect(run.output.split(separator: "\n").count == 1 && run.errorOutput.isEmpty)
            #expect(daemon.lines(of: "code") == ["1"])
        }
    }

    @Test("export of an unknown dispatcher fails with that message")
    func unknown() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            let run = try await CommandLineTool.run("export", "nobody", on: daemon)
            #expect(run.exitCode == 1 && run.output.isEmpty && run.errorOutput.contains("nobody"))
        }
    }
}
