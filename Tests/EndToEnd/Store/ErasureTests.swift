import Foundation
import Testing

/// The erasure of events of a running daemon.
@Suite struct ErasureTests {
    /// Returns the files below a directory that contain a text.
    private func findings(of text: String, below directory: String) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: directory).filter { name in
            let content = FileManager.default.contents(atPath: directory + "/" + name) ?? Data()
            return content.range(of: Data(text.utf8)) != nil
        }
    }

    @Test(
        "E1, E2, E3: pending events and dead letters of one person are gone from every file, and stay gone after a kill"
    )
    func onePerson() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            collector.answerAlways(.status(400))
            try await daemon.track(1...1, data: ["user": "ada-lovelace"])
            try await daemon.dispatcher(until: "a dead letter") { $0["dead"] == 1 }
            try await daemon.pause()
            for number in 2...9 { try await daemon.track(number...number, data: ["user": "ada-lovelace"]) }
            for number in 10...14 { try await daemon.track(number...number, data: ["user": "bob"]) }
            #expect(try !findings(of: "ada-lovelace", below: daemon.dataPath).isEmpty)
            let rule = #"data.user = "ada-lovelace""#
            let count = try await CommandLineTool.run("erase", "--when", rule, "--dry-run", on: daemon)
            #expect(count.output == "8 events and 1 dead letter would be erased.\n", "\(count.errorOutput)")
            let run = try await CommandLineTool.run("erase", "--when", rule, "--reason", "art. 17", "--yes", on: daemon)
            #expect(run.exitCode == 0, "\(run.errorOutput)")
            #expect(
                run.output == "8 events and 1 dead letter erased. No file of the store has their bytes.\n"
                    + "The destinations and files of these dispatchers keep their copies: collect.\n")
            #expect(try findings(of: "ada-lovelace", below: daemon.dataPath) == [])
            #expect(try await daemon.counter("erased") == 9)
            try await daemon.logs("erased 8 events and 1 dead letter; reason: art. 17")
            try await daemon.killNow()
            try await daemon.start()
            collector.answerAlways(.status(200))
            try await daemon.resume()
            #expect(try await collector.acceptedIDs(atLeast: 5) == (10...14).map { "e\($0)" })
            try await daemon.dispatcher(until: "all is sent") { $0["pending"] == 0 && $0["in_flight"] == 0 }
            #expect(try findings(of: "ada-lovelace", below: daemon.dataPath) == [])
        }
    }

    @Test("E1, E2: more than 100 000 events are erased in parts, also if the daemon is killed twice meanwhile")
    func killedWhileErasingMany() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            try await daemon.pause()
            let users = (1...101_000).map { $0 % 1_000 == 0 ? "bob" : "ada-lovelace" }
            let lines = users.enumerated().map { #"{"event":"e","id":"e\#($0)","data":{"user":"\#($1)"}}"# }
            let sent = try await CommandLineTool.run(
                "send", "--stdin", on: daemon, input: lines.joined(separator: "\n"))
            #expect(sent.exitCode == 0, "\(sent.errorOutput)")
            let rule: JSON = ["operator": "equals", "path": "data.user", "value": "ada-lovelace"]
            let client = try await daemon.connect()
            _ = try await client.watch("outcomes")
            _ = try await client.request("store.erase", ["when": rule, "reason": "art. 17"])
            _ = try await client.changed(until: "the first part is erased") { ($0["erasure"]["events"].int ?? 0) > 0 }
            try await daemon.killNow()
            #expect(try !findings(of: "ada-lovelace", below: daemon.dataPath).isEmpty)
            try await daemon.start()
            let next = try await daemon.connect()
            _ = try await next.watch("outcomes")
            _ = try await next.changed(until: "the remaining events are erased") {
                $0["erasure"]["step"] == "removing" || $0["erasure"] == .null
            }
            try await daemon.killNow()
            try await daemon.start()
            try await eventually("the erasure is finished") { daemon.log.contains("finished an erasure") }
            #expect(try findings(of: "ada-lovelace", below: daemon.dataPath) == [])
            #expect(try await daemon.dispatcher()["pending"] == 101)
            try await daemon.resume()
            let others = users.indices.filter { users[$0] == "bob" }.map { "e\($0)" }
            #expect(try await collector.acceptedIDs(atLeast: 101) == others)
        }
    }

    @Test("E1, E2: an erasure waits for a batch in flight, and meanwhile status and the metrics report that")
    func progress() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            func active() async throws -> JSON {
                let metrics = try await daemon.ask("metrics")["metrics"].elements
                return metrics.first { $0["name"] == "headgate_erasure_active" }?["samples"].elements.first?["value"]
                    ?? .null
            }
            collector.answerAlways(.held)
            try await daemon.track(1...1, data: ["user": "ada-lovelace"])
            try await collector.requests(atLeast: 1)
            #expect(try await daemon.ask("status")["store"]["erasure"] == .null)
            #expect(try await active() == 0)
            let client = try await daemon.connect()
            let rule: JSON = ["operator": "equals", "path": "data.user", "value": "ada-lovelace"]
            let call = try await client.request("store.erase", ["when": rule])
            try await eventually("an erasure in progress") {
                try await daemon.ask("status")["store"]["erasure"].contains([
                    "step": "erasing", "seq": 1, "last_seq": 1,
                ])
            }
            #expect(try await active() == 1)
            collector.release()
            _ = try await client.answer(to: call)
            #expect(try await daemon.ask("status")["store"]["erasure"] == .null)
            #expect(try await active() == 0)
        }
    }

    @Test("E1: a wrong rule, and a store that cannot erase, are refused")
    func refusals() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, top: ["store": ["kind": "sqlite"]])
            let client = try await daemon.connect()
            let wrong: JSON = ["when": ["operator": "like", "path": "event", "value": "x"], "dry_run": true]
            #expect(try await client.refusal("store.erase", wrong)["data"]["path"] == "when.operator")
            let rule: JSON = ["when": ["operator": "equals", "path": "event", "value": "x"], "dry_run": true]
            #expect(try await client.refusal("store.erase", rule)["data"]["reason"] == "conflict")
        }
    }
}
