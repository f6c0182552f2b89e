import HeadgateData
import Testing

/// The methods `hello`, `ping` and `status`.
@Suite struct HandshakeTests {
    @Test("hello returns the server, the protocol, a session and the configured limits")
    func hello() async throws {
        try await withScene { scene in
            let limits: JSON = ["max_line_bytes": 50_000, "max_depth": 20]
            let daemon = try await scene.daemon(sendingTo: scene.collector(), top: ["limits": limits])
            let client = try await daemon.connect()
            let hello = try await client.result(
                "hello", ["client": ["name": "shop", "version": "2.1"], "protocol": 1])
            #expect(hello["server"]["name"].string?.isEmpty == false)
            #expect(hello["server"]["version"].string?.isEmpty == false)
            #expect(hello["server"]["pid"].int == (daemon.process?.processIdentifier).map(Int.init))
            #expect(hello["protocol"] == 1)
            #expect(hello["session"] != .null)
            #expect(hello["limits"].contains(["max_line_bytes": 50_000, "max_depth": 20, "max_connections": 4_096]))
        }
    }

    @Test("Another protocol number is a conflict")
    func otherProtocol() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            let client = try await daemon.connect()
            let error = try await client.refusal(
                "hello", ["client": ["name": "shop", "version": "2.1"], "protocol": 2])
            #expect(error["code"] == -32000)
            #expect(error["data"]["reason"] == "conflict")
        }
    }

    private static let shop = #"{"client":{"name":"shop"}}"#
    private static let track = #"{"jsonrpc":"2.0","id":1,"method":"track","params":{"event":"x"}}"#

    @Test(
        "Protocol, hello: hello must be the first request, and a later one is a conflict",
        arguments: [
            #"{"jsonrpc":"2.0","id":1,"method":"hello","params":\#(shop)}"#,
            #"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, track, "[\(track)]",
            #"{"jsonrpc":"2.0","method":"ping"}"#,
            #"{"jsonrpc":"2.0","method":"track","params":{"event":"x"}}"#,
        ])
    func comesFirst(line: String) async throws {
        try await withScene { scene in
            let client = try await scene.daemon(sendingTo: scene.collector()).connect()
            try await client.send(line)
            try await client.send(#"{"jsonrpc":"2.0","id":9,"method":"hello","params":\#(Self.shop)}"#)
            let answer = try await client.answer(to: 9)
            #expect(answer["error"].contains(["code": -32_000, "data": ["reason": "conflict"]]))
        }
    }

    @Test("Protocol, hello: in a batch hello after track is a conflict, and before it is not")
    func inBatch() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            let hello = #"{"jsonrpc":"2.0","id":9,"method":"hello","params":\#(Self.shop)}"#
            for (batch, isFirst) in [("[\(Self.track),\(hello)]", false), ("[\(hello),\(Self.track)]", true)] {
                let client = try await daemon.connect()
                try await client.send(batch)
                let answers = try await client.message().elements
                let answer = try #require(answers.first { $0["id"] == 9 })
                #expect((answer["error"]["data"]["reason"] == "conflict") == !isFirst)
                #expect((answer["result"]["session"] != .null) == isFirst)
            }
        }
    }

    @Test("Protocol, hello: after a refused hello another one is accepted")
    func afterRefusal() async throws {
        try await withScene { scene in
            let client = try await scene.daemon(sendingTo: scene.collector()).connect()
            let wrong: [JSON] = [
                ["client": ["name": "shop"], "protocol": 2], ["client": [:]],
                ["client": ["name": "shop"], "namespace": ""],
            ]
            for params in wrong { _ = try await client.refusal("hello", params) }
            #expect(try await client.result("hello", ["client": ["name": "shop"]])["protocol"] == 1)
        }
    }

    @Test("Protocol, hello, Q7: a late hello changes neither namespace nor name")
    func changesNothing() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let client = try await scene.daemon(sendingTo: collector).connect()
            let event: JSON = ["event": "x", "id": "1"]
            #expect(try await client.result("track", event)["duplicate"] == .null)
            _ = try await client.refusal("hello", ["client": ["name": "shop"], "namespace": "shop"])
            #expect(try await client.result("track", event)["duplicate"] == true)
            _ = try await client.result("track", ["event": "x", "id": "2"])
            try await collector.acceptedIDs(atLeast: 2)
            #expect(collector.accepted.flatMap(\.events).allSatisfy { $0["context"]["client"] == .null })
        }
    }

    @Test("hello is optional, and two sessions are distinguished")
    func optional() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            #expect(try await daemon.ask("ping") == [:])
            let hello: JSON = ["client": ["name": "shop", "version": "2.1"]]
            let first = try await daemon.ask("hello", hello)["session"]
            let second = try await daemon.ask("hello", hello)["session"]
            #expect(first != second)
        }
    }

    @Test("status has the most important information")
    func status() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector(), top: ["durability": "normal"])
            try await daemon.pause()
            #expect(try await daemon.ask("status")["store"]["dedupe"] == ["ids": 0, "since": .null])
            try await daemon.track(1...4)
            let status = try await daemon.ask("status")
            #expect(status["ready"] == true)
            #expect(status["version"].string?.isEmpty == false)
            #expect((status["uptime_ms"].int ?? -1) >= 0)
            #expect(status["store"].contains(["kind": "log", "durability": "normal", "events": 4]))
            #expect((status["store"]["bytes"].int ?? 0) > 0)
            #expect((status["store"]["oldest_ms"].int ?? -1) >= 0)
            #expect(status["store"]["dedupe"]["ids"] == 4)
            #expect(status["store"]["dedupe"]["since"].string.flatMap(Timestamp.init(rfc3339:)) != nil)
            #expect((status["clients"].int ?? 0) >= 1)
            #expect(status["dispatchers"].elements.map(\.["id"]) == ["collect"])
            #expect(status["barriers"].elements.contains { $0["id"] == "BackoffBarrier:collect" })
            #expect(status["warnings"] == [])
            for counter in Self.counters { #expect(status["counters"][counter].int != nil, "\(counter)") }
            #expect(status["counters"]["received"] == 4)
        }
    }

    private static let counters = [
        "received", "duplicates", "unrouted", "rejected", "delivered", "retried", "dead", "requeued",
        "dropped_letters", "expired", "evicted", "purged", "purged_letters", "transformed_away", "quarantined",
        "rejected_connections", "failed_notifications",
        "line_too_long", "slow_readers_closed", "limited", "paused_readings", "collector_errors", "barrier_errors",
        "transformation_errors",
    ]
}
