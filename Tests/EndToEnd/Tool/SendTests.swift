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

    @Test(
        "P3: sending an unrouted event prints no id, and exits with 1; so with settings without dispatchers",
        arguments: ["{}", #"{"dispatchers": {}}"#, #"{"log_format": "text", "dispatchers": null}"#])
    func unrouted(settings: String) async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(JSON(parsing: settings))
            let run = try await CommandLineTool.run("send", "signup", on: daemon)
            #expect(run.exitCode == 1 && run.output.isEmpty)
            #expect(run.errorOutput.contains("no dispatcher accepts this event"))
        }
    }

    @Test("Q7: send --id stores an event once, and --dispatcher sends it to one dispatcher only")
    func members() async throws {
        try await withScene { scene in
            let (first, second) = (try scene.collector(), try scene.collector())
            let daemon = try await scene.daemon([
                "dispatchers": [
                    "a": ["kind": "http", "endpoint": .string(first.endpoint)],
                    "b": ["kind": "http", "endpoint": .string(second.endpoint)],
                ]
            ])
            for _ in 1...2 {
                let run = try await CommandLineTool.run(
                    "send", "x", "--id", "one", "--key", "k", "--ttl", "1h", "--dispatcher", "b", on: daemon)
                #expect(run.exitCode == 0 && run.output == "one\n", "\(run.errorOutput)")
            }
            #expect(try await second.acceptedIDs(atLeast: 1) == ["one"])
            #expect(second.accepted[0].events[0]["key"] == "k")
            let counters = try await daemon.ask("status")["counters"]
            #expect(counters["duplicates"] == 1 && first.accepted.isEmpty)
        }
    }

    @Test(
        "send --stdin waits while the disk is full, reports no invalid line, and stores everything when there is room",
        .enabled(if: SmallDisk.isPossible, "needs root, to mount a small disk"))
    func fullDisk() async throws {
        try await withScene { scene in
            let disk = try SmallDisk(at: scene.directory.path("small"))
            defer { disk.unmount() }
            let collector = try scene.collector()
            let daemon = scene.idleDaemon()
            daemon.dataPath = disk.path + "/data"
            try daemon.configure(["dispatchers": ["collect": collector.dispatcher()]])
            try await daemon.start()
            try await daemon.pause()
            try disk.fill()
            // Scattered digits, which do not become smaller when the store compresses them.
            let lines = (1...3_000).map { number in
                let words = (1...12).map { UInt64(number * 12 + $0) &* 0x9E37_79B9_7F4A_7C15 }
                let digits = words.map { String($0, radix: 36) }.joined()
                return #"{"event":"line","id":"l\#(number)","data":{"n":"\#(digits)"}}"#
            }
            let (socket, folder, input) = (daemon.socketPath, daemon.folder, lines.joined(separator: "\n"))
            async let run = CommandLineTool.run(["send", "--stdin", "--socket", socket], in: folder, input: input)
            try await eventually("a refusal") { try await daemon.ask("status")["counters"]["rejected"].int ?? 0 > 0 }
            try disk.makeRoom()
            let end = try await run
            #expect(end.exitCode == 0, "\(end.errorOutput)")
            #expect(end.output.contains("events acknowledged") && !end.output.contains("bad"))
            #expect(try await daemon.dispatcher()["pending"].int == 3_000)
        }
    }

    @Test("send --stdin tracks one event per line, in order")
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
        "send --stdin reports an invalid line with its number, continues, and exits with 1",
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
