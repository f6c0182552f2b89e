import Foundation
import Testing

/// X3: valid and nearly valid JSON that no real client would send.
@Suite struct OddInputTests {
    @Test("X3: numbers of any size in any parameter are answered, and the daemon continues")
    func hugeNumbers() async throws {
        let numbers = [
            "9223372036854775807", "-9223372036854775808", "9223372036854775808", "1e308", "-1e308", "1e999999",
            "9223372036854775", "4611686018427387904", "1" + String(repeating: "0", count: 5_000), "-0", "0.1e-9999",
        ]
        let calls = [
            #"track","params":{"event":"x","ttl_ms":#}"#, #"track","params":{"event":"x","data":{"n":#}}"#,
            #"flush","params":{"timeout_ms":#}"#, #"flush","params":{"wait":true,"timeout_ms":#}"#,
            #"hello","params":{"client":{"name":"x"},"protocol":#}"#,
            #"config.set","params":{"patch":{"store":{"max_age_s":#}}}"#,
            #"config.set","params":{"patch":{"store":{"max_events":#}}}"#,
            #"config.set","params":{"patch":{"store":{"dedupe_window_s":#}}}"#,
            #"config.set","params":{"patch":{"limits":{"max_connections":#}}}"#,
            #"config.set","params":{"patch":{"shutdown_timeout_ms":#}}"#,
            #"config.set","params":{"patch":{"dispatchers":{"collect":{"timeout_ms":#}}}}"#,
            #"config.set","params":{"patch":{"barriers":{"BatchingBarrier":{"configuration":{"max_wait_ms":#}}}}}"#,
        ]
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            for call in calls {
                for number in numbers {
                    let client = try await daemon.connect()
                    try await client.send(
                        #"{"jsonrpc":"2.0","id":1,"method":""# + call.replacing("#", with: number) + "}")
                    #expect(try await client.message()["id"] == 1, "\(call) \(number.prefix(20))")
                    client.close()
                }
            }
            #expect(try await daemon.stop() == 0)
        }
    }

    @Test("X3: NULs, unpaired surrogates and control characters in strings are kept unchanged")
    func strangeStrings() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            let client = try await daemon.connect()
            let texts = [
                #"\u0000"#, #"a\ud800b"#, #"\udc00\ud800"#, #"\ud83d\ude00"#, #"\u001b[2J"#, #"\u007f"#, "\u{FEFF}x",
            ]
            for (number, text) in texts.enumerated() {
                let params = #"{"event":"\#(text)","key":"\#(text)","id":"\#(text)","data":{"\#(text)":"\#(text)"}}"#
                try await client.send(#"{"jsonrpc":"2.0","id":\#(number),"method":"track","params":\#(params)}"#)
                #expect(try await client.line().contains(#""id":"\#(text)","seq":\#(number + 1)"#))
            }
            // The raw text is compared, since the harness's JSON parser would reject these names.
            for text in texts {
                try await eventually("the event \(text)") {
                    collector.accepted.contains { $0.body.contains(#""event":"\#(text)""#) }
                }
            }
        }
    }

    @Test("X3: excessively long names and reasons are refused with their path")
    func longTexts() async throws {
        let long = JSON.string(String(repeating: "x", count: 5_000))
        let calls: [(method: String, params: JSON, path: String)] = [
            ("hello", ["client": ["name": long]], "client.name"),
            ("hello", ["client": ["name": "x", "version": long]], "client.version"),
            ("hello", ["client": ["name": "x"], "namespace": long], "namespace"),
            ("track", ["event": "x", "id": long], "id"), ("track", ["event": "x", "key": long], "key"),
            ("flush", ["flush": long], "flush"), ("dispatcher.pause", ["id": "collect", "reason": long], "reason"),
            ("barrier.register", ["id": long, "state": "open"], "id"),
            ("barrier.register", ["id": "b", "state": "open", "scopes": [long]], "scopes[0]"),
            ("barrier.set", ["id": "b", "reason": long], "reason"),
            ("dispatcher.resume", ["id": "collect", "reason": long], "reason"),
            ("board.serve", ["board": long], "board"),
            ("board.serve", ["board": "b", "barrier": ["board": long]], "barrier.board"),
            ("board.activate", ["board": long], "board"),
            ("board.activate", ["board": "b", "mainboard": long], "mainboard"),
            ("dispatcher.subscribe", ["id": "collect", "credit": 1_025], "credit"),
        ]
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            for call in calls {
                let client = try await daemon.connect()
                let error = try await client.refusal(call.method, call.params)
                #expect(error["code"] == -32_602, "\(call.method)")
                #expect(error["data"]["path"].string == call.path, "\(call.method)")
            }
        }
    }

    @Test(
        "X2: a client's flushes, watches, scopes, batched messages and answers are limited"
    )
    func boundedNumbers() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(
                sendingTo: scene.collector(), top: ["limits": ["max_output_bytes": 20_000]])
            try await daemon.pause()
            try await daemon.track(1...1)
            let client = try await daemon.connect()
            var flushes: [JSON] = []
            for _ in 1...256 { flushes.append(try await client.result("flush", ["timeout_ms": 0])) }
            // The limit applies to the user, so another connection does not help.
            #expect(try await daemon.connect().refusal("flush")["data"]["reason"] == "limit")
            _ = try await client.result("flush.cancel", flushes[0])
            _ = try await client.result("flush", ["timeout_ms": 0])

            for _ in 1...16 { _ = try await client.result("watch", ["topics": ["clients"]]) }
            #expect(try await client.refusal("watch")["data"]["reason"] == "limit")
            let scopes = JSON((1...257).map { "d\($0)" })
            let barrier: JSON = ["id": "b", "state": "open", "scopes": scopes]
            #expect(try await client.refusal("barrier.register", barrier)["data"]["reason"] == "limit")

            let batcher = try await daemon.connect()
            try await batcher.send("[" + Array(repeating: "7", count: 1_025).joined(separator: ",") + "]")
            let refused = try await batcher.message()
            #expect(refused["id"] == .null)
            #expect(refused["error"]["data"]["reason"] == "limit")
            let status = #"{"jsonrpc":"2.0","id":1,"method":"status"}"#
            try await batcher.send("[" + Array(repeating: status, count: 1_000).joined(separator: ",") + "]")
            let answers = try await batcher.message().elements
            #expect(answers.count == 1_000)
            #expect(answers.first?["result"]["ready"] == true)
            #expect(answers.last?["error"]["data"]["reason"] == "limit")
            #expect(answers.count { $0["result"] != .null } < 100)
            #expect(try await daemon.counter("limited") ?? 0 >= 4)
        }
    }

    @Test("X3: 100 000 tiny lines are handled correctly, and others are served meanwhile")
    func tinyLines() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            let (client, good) = (try await daemon.connect(), try await daemon.connect())
            let lines = Array(String(repeating: "1\n\n{}\n\r\n", count: 1_000).utf8)
            for _ in 1...25 {
                try await client.send(bytes: lines)
                #expect(try await good.result("ping") == [:])
                for _ in 1...2_000 { #expect(try await client.line().contains("-32600")) }
            }
            #expect(try await client.result("ping") == [:])
        }
    }

    @Test("X2: a change of max_line_bytes and max_depth applies to open connections")
    func changedLimits() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            let client = try await daemon.connect()
            let wide: JSON = ["event": "x", "data": ["s": .string(String(repeating: "x", count: 1500))]]
            let deep: JSON = ["event": "x", "data": ["a": [[[[[[1]]]]]]]]
            for params in [wide, deep] { _ = try await client.result("track", params) }
            try await daemon.set(["limits": ["max_line_bytes": 1024, "max_depth": 8]])
            for (params, reason) in [(wide, "line_too_long"), (deep, "limit")] {
                _ = try await client.request("track", params)
                #expect(try await client.message()["error"]["data"]["reason"].string == reason)
            }
            try await daemon.set(["limits": .null])
            for params in [wide, deep] { _ = try await client.result("track", params) }
            #expect(try await daemon.counter("line_too_long") == 1)
            #expect(try await daemon.counter("limited") == 1)
        }
    }
}
