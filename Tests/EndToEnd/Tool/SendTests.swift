import Testing

/// `headgate send`.
@Suite struct SendTests {
    @Test("send tracks one event with its data")
    func oneEvent() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            let run = try await CommandLineTool.run("send", "signup", "plan=pro", "note=a=b c", on: daemon)
            #expect(run.exitCode == 0, "\(run.errorOutput)")
            let ids = try await collector.acceptedIDs(atLeast: 1)
            let event = collector.accepted[0].events[0]
            #expect(event.contains(["event": "signup", "data": ["plan": "pro", "note": "a=b c"]]))
            #expect(run.output.contains(ids[0]))
        }
    }

    @Test("send --json prints the acknowledgement")
    func json() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            let run = try await CommandLineTool.run("send", "signup", "--json", on: daemon)
            #expect(run.exitCode == 0)
            #expect(try run.json["id"].string?.isEmpty == false)
            #expect(try run.json["seq"].int != nil)
        }
    }

    @Test("send --stdin tracks one event a line, in order")
    func manyEvents() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            let ids = (1...2_000).map { "l\($0)" }
            let lines = ids.map { #"{"event":"line","id":"\#($0)","data":{"n":1.10}}"# }
            let run = try await CommandLineTool.run("send", "--stdin", on: daemon, input: lines.joined(separator: "\n"))
            #expect(run.exitCode == 0, "\(run.errorOutput)")
            #expect(try await collector.acceptedIDs(atLeast: 2_000) == ids)
            #expect(collector.accepted[0].body.contains(#""data":{"n":1.10}"#))
        }
    }

    @Test(
        "send --stdin tells a bad line with its number, goes on with the rest, and exits with 1",
        arguments: [
            "no json", "[]", "{}", #"{"event":""}"#, #"{"event":"x","data":5}"#,
            #"{"event":"x","dispatchers":["nowhere"]}"#,
        ])
    func badLine(bad: String) async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            let input = """
                {"event":"x","id":"one"}
                {"event":"x","id":"two"}
                \(bad)
                {"event":"x","id":"four"}

                """
            let run = try await CommandLineTool.run("send", "--stdin", on: daemon, input: input)
            #expect(run.exitCode == 1)
            #expect(run.errorOutput.contains(/\b3\b/), "\(run.errorOutput)")
            #expect(!run.errorOutput.contains(/line (1|2|4)\b/))
            #expect(try await collector.acceptedIDs(atLeast: 3) == ["one", "two", "four"])
        }
    }
}
