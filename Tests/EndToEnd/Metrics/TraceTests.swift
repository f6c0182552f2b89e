import Foundation
import Testing

/// Traces of an event by a real daemon and the tool.
@Suite struct TraceTests {
    /// Returns the tool's output for an event.
    private func words(_ id: String, of daemon: Daemon) async throws -> String {
        let run = try await CommandLineTool.run("trace", id, on: daemon)
        #expect(run.exitCode == 0, "\(run.errorOutput)")
        return run.output
    }

    @Test("O2: delivered, dead, expired and held events are traced, and the tool says what to do")
    func reported() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon([
                "dispatchers": [
                    "collect": collector.dispatcher(["dispatch_limit": 1]),
                    "archive": ["kind": "file", "path": "archive.ndjson"],
                ]
            ])
            try await daemon.pause("archive", ["reason": "audit"])
            collector.answerNext(.status(400))
            let client = try await daemon.connect()
            defer { client.close() }
            for id in ["dead", "fine"] { _ = try await client.result("track", ["event": "x", "id": .string(id)]) }
            _ = try await client.result(
                "track", ["event": "x", "id": "old", "ttl_ms": 1, "dispatchers": ["archive"]])
            try await daemon.dispatcher(until: "both are settled") { $0["sent"].int == 1 && $0["dead"].int == 1 }
            try await daemon.dispatcher("archive", until: "the old events have expired") { $0["expired"].int == 1 }

            let dead = try await daemon.ask("event.trace", ["id": "dead"])["events"][0]
            #expect(
                dead["dispatchers"]["collect"].contains([
                    "state": "dead", "attempts": 1, "last_error": "HTTP 400", "letter": 1,
                ]))
            #expect(
                dead["dispatchers"]["archive"].contains([
                    "state": "pending", "ahead": 0, "blocked_by": ["ManualBarrier:archive"], "at": .null,
                ]))
            let fine = try await daemon.ask("event.trace", ["id": "fine"])["events"][0]["dispatchers"]
            #expect(fine["collect"].contains(["state": "delivered", "attempts": 1, "letter": .null]))
            #expect(fine["archive"]["ahead"] == 1)
            let old = try await daemon.ask("event.trace", ["id": "old"])["events"][0]["dispatchers"]
            #expect(old["archive"].contains(["state": "expired", "blocked_by": []]))

            let words = try await words("dead", of: daemon)
            #expect(words.contains("dead letter 1: `headgate dead-letters requeue 1` requeues it."))
            #expect(words.contains("blocked by ManualBarrier:archive since "))
            #expect(words.contains("audit; `headgate resume archive` opens it; a flush does not pass it."))
            #expect(try await self.words("fine", of: daemon).contains("collect: delivered "))
        }
    }

    @Test(
        "O2: events delivered after a restart are traced, including one in a namespace and a requeued one"
    )
    func namespaces() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, ["dispatch_limit": 1])
            let client = try await daemon.connect()
            _ = try await client.result("hello", ["client": ["name": "shop"], "namespace": "shop"])
            collector.answerNext(.status(400))
            _ = try await client.result("track", ["event": "x", "id": "dead"])
            try await daemon.dispatcher(until: "the event is dead-lettered") { $0["dead"].int == 1 }
            try await daemon.pause()
            _ = try await client.result("track", ["event": "x", "id": "late"])
            #expect(try await daemon.ask("dead_letters.requeue") == ["count": 1])
            client.close()
            try await daemon.killNow()
            try await daemon.start()
            _ = try await daemon.ask("dispatcher.resume", ["id": "collect"])
            try await daemon.dispatcher(until: "both are delivered") { $0["sent"].int == 2 }
            let trace = try await daemon.ask("event.trace", ["id": "late", "namespace": "shop"])
            let namespace = "uid:\(getuid())/shop"
            #expect(trace["events"].elements.map { $0["namespace"].string } == [namespace])
            for id in ["late", "dead"] {
                let trace = try await daemon.ask("event.trace", ["id": .string(id), "namespace": "*"])
                #expect(trace["events"].elements.last?["dispatchers"]["collect"]["state"] == "delivered")
                #expect(trace["events"].elements.last?["namespace"].string == namespace)
            }
        }
    }

    @Test(
        "O2: after SIGKILL pending events and dead letters are found, and delivered events are not",
        arguments: ["log", "sqlite"])
    func restarted(kind: String) async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(
                sendingTo: collector, ["dispatch_limit": 1], top: ["store": ["kind": .string(kind)]])
            collector.answerNext(.status(400))
            try await daemon.track(1...2)
            try await daemon.dispatcher(until: "both are settled") { $0["sent"].int == 1 && $0["dead"].int == 1 }
            try await daemon.pause()
            try await daemon.track(3...4)
            let made = try await daemon.ask("track", ["event": "x"])["id"]
            #expect(try await daemon.ask("dead_letters.list")["dead_letters"].elements.count == 1)
            try await daemon.killNow()
            try await daemon.start()
            let dead = try await daemon.ask("event.trace", ["id": "e1"])["events"][0]["dispatchers"]["collect"]
            #expect(dead.contains(["state": "dead", "letter": 1, "last_error": "HTTP 400"]))
            let held = try await daemon.ask("event.trace", ["id": "e4"])["events"][0]
            #expect(held.contains(["seq": 4, "event": "e4"]))
            #expect(held["dispatchers"]["collect"].contains(["state": "pending", "ahead": 1]))
            let found = try await daemon.ask("event.trace", ["id": made])["events"][0]
            #expect(found["dispatchers"]["collect"].contains(["state": "pending", "ahead": 2]))
            for id in ["e2", "nowhere"] {
                let run = try await CommandLineTool.run("trace", id, on: daemon)
                #expect(run.exitCode == 1 && run.errorOutput.contains("no event \(id) is known"))
            }
        }
    }
}
