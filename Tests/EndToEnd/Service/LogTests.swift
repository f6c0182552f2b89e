import Foundation
import Testing

/// The log of a real daemon about lost events.
@Suite struct LogTests {
    private func lines(_ daemon: Daemon) -> [JSON] {
        daemon.log.split(separator: "\n").compactMap { try? JSON(parsing: String($0)) }.filter(\.isObject)
    }

    @Test("O4: in JSON each loss is an object with its reason, a burst is one line, and the readiness line stays text")
    func json() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerAlways(.status(400))
            let daemon = try await scene.daemon([
                "log_format": "json", "lenient": true, "colour": "red",
                "dispatchers": [
                    "collect": collector.dispatcher(["dispatch_limit": 1]),
                    "archive": ["kind": "file", "path": "archive.ndjson"],
                ],
            ])
            try await daemon.pause("archive")
            try await daemon.track(1...20)
            try await daemon.dispatcher(until: "all events are dead-lettered") { $0["dead"].int == 20 }
            _ = try await daemon.ask("queue.purge", ["dispatcher": "archive"])
            _ = try await daemon.ask("track", ["event": "x", "ttl_ms": 1, "dispatchers": ["archive"]])
            try await daemon.dispatcher("archive", until: "the event has expired") { $0["expired"].int == 1 }
            #expect(daemon.log.split(separator: "\n").contains { $0 == "headgated ready \(daemon.socketPath)" })
            #expect(try await daemon.stop() == 0)
            let lines = lines(daemon)
            #expect(daemon.log.split(separator: "\n").count == lines.count + 1)
            #expect(lines.allSatisfy { $0["time"].string?.count == 24 && $0["message"].string?.isEmpty == false })
            #expect(lines.first { $0["kind"] == "settings_warning" }?["level"] == "warning")
            let died = lines.filter { $0["kind"] == "events_died" }
            // A busy machine may need longer than the duration of a burst, and then writes more than two lines.
            #expect((2..<20).contains(died.count) && died.reduce(0) { $0 + ($1["events"].int ?? 0) } == 20)
            #expect(
                died[0].contains([
                    "dispatcher": "collect", "reason": "refused_status", "cause": "HTTP 400", "id": "e1", "events": 1,
                ]))
            #expect(died.dropFirst().reduce(0) { $0 + ($1["times"].int ?? 1) } == 19)
            #expect(lines.first { $0["kind"] == "events_purged" }?["events"].int == 20)
            #expect(lines.contains { $0["kind"] == "events_expired" && $0["dispatcher"] == "archive" })
        }
    }

    @Test("O4: in text a loss is the line documented in Docs/Operations.md, and refusals are logged")
    func text() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(
                sendingTo: try scene.collector(listening: false), top: ["store": ["max_events": 1]])
            _ = try await daemon.ask("track", ["event": "x"])
            let client = try await daemon.connect()
            defer { client.close() }
            for _ in 1...3 { _ = try await client.refusal("track", ["event": "x"]) }
            try await eventually("a line in the log") {
                daemon.log.contains("headgated: warning: 1 event refused: queue_full\n")
            }
        }
    }

    @Test(
        "O4: errors that prevent a start are logged as JSON if configured, and --check validates the log settings")
    func failures() async throws {
        try await withScene { scene in
            let daemon = scene.idleDaemon()
            try daemon.configure(["log_format": "json", "data_dir": "/dev/null/x"])
            #expect(try await daemon.run(arguments: ["--config", daemon.configurationPath]) == 1)
            #expect(lines(daemon).last?["kind"] == "start_failed")
            try daemon.configure(["log_format": "xml"])
            #expect(try await daemon.run(arguments: ["--config", daemon.configurationPath, "--check"]) == 1)
            try await daemon.logs("log_format: must be one of: text, json")
        }
    }
}
